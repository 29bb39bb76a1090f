import type { Quote, ServerCreate } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { berth, queryClient } from '../../client.ts'
import { useFormats } from '../../format.ts'
import { Approximately } from '../../people/approximately.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { useCodeText } from '../../ui/problems.ts'
import { Failed, Note } from '../../ui/states.tsx'
import type { System } from '../systems.ts'
import { useServersText } from '../text.ts'
import { type Order, readLabels, readPorts } from './order.ts'
import type { useQuote } from './quote.ts'
import { useCreateText } from './text.ts'

interface SummaryProps {
  order: Order
  request: ServerCreate
  image: System | undefined
  quoted: ReturnType<typeof useQuote>
  /** True if the name is invalid; its field shows the error. */
  isNameWrong: boolean
}

/** The price and anything that blocks the order, in sight while the form changes. */
export function Summary({ order, request, image, quoted, isNameWrong }: SummaryProps) {
  const t = useCreateText()
  const codeText = useCodeText()
  const navigate = useNavigate()
  const { query, quote, isCurrent } = quoted
  const create = useMutation({
    mutationFn: () => berth.servers.create(request),
    onSuccess: (server) => {
      void queryClient.invalidateQueries({ queryKey: ['server', 'list'] })
      void navigate({ to: '/servers/$serverId', params: { serverId: server.server_id } })
    },
  })
  const isReadable = readPorts(order.ports) !== null && readLabels(order.labels) !== null
  const canCreate = isCurrent && quote?.can_create === true && isReadable && !query.error
  return (
    <div className="summary stack">
      <Card title={t.summary}>
        <div className="body stack">
          {quote ? <Costs quote={quote} image={image} /> : null}
          <div role="status" className="stack">
            {quote && !quote.can_create && !query.error ? (
              <Note tone="warn">
                {t.blocked}
                <ul>
                  {quote.blockers.map((blocker) => (
                    <li key={blocker.code}>{codeText(blocker)}</li>
                  ))}
                </ul>
              </Note>
            ) : null}
          </div>
          {isNameWrong ? <Note tone="warn">{t.checkName}</Note> : null}
          {query.error && !isNameWrong ? <Failed error={query.error} /> : null}
          {create.error ? <Failed error={create.error} /> : null}
          <Button
            kind="primary"
            disabled={!canCreate}
            isBusy={create.isPending}
            onClick={() => create.mutate()}
          >
            {t.create}
          </Button>
          <p className="muted small">{t.billed}</p>
        </div>
      </Card>
    </div>
  )
}

function Costs({ quote, image }: { quote: Quote; image: System | undefined }) {
  const t = useCreateText()
  const words = useServersText()
  const format = useFormats()
  return (
    <>
      <div>
        <div className="total">{format.money(quote.price_month_rub)}</div>
        <div className="muted small">
          {t.month} · {format.money(quote.price_hour_rub, 4)} {t.hour}
        </div>
        <Approximately rubles={quote.price_month_rub} />
      </div>
      <p>
        {words.size(quote.cpu, format.ram(quote.ram_mb), quote.disk_gb)}
        <br />
        <span className="muted">
          {image?.title} · {quote.zone_slug}
        </span>
      </p>
      {quote.items.length > 1 ? (
        <dl className="costs">
          {quote.items.flatMap(({ code, price_month_rub }) => [
            <dt key={code}>{t.items[code]}</dt>,
            <dd key={`${code} price`}>{format.money(price_month_rub)}</dd>,
          ])}
        </dl>
      ) : null}
    </>
  )
}
