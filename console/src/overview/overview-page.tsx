import './overview.css'
import type { Balance, Server } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Figures, useMoneyFigures } from '../billing/figures.tsx'
import { balanceQuery } from '../billing/queries.ts'
import { useBillingText } from '../billing/text.ts'
import { useFormats } from '../format.ts'
import { serversQuery } from '../servers/queries.ts'
import { useReason } from '../servers/reasons.ts'
import { ServerStatus } from '../servers/server-status.tsx'
import { useServersText } from '../servers/text.ts'
import type { Example } from '../ui/example.ts'
import { Allowed } from '../ui/guarded.tsx'
import { Icon } from '../ui/icon.tsx'
import { Card, Page } from '../ui/page.tsx'
import { Loaded, Note } from '../ui/states.tsx'
import { FirstSteps } from './first-steps.tsx'
import { Recent } from './recent.tsx'
import { useOverviewText } from './text.ts'

/** A balance that lasts less than this gets a warning. */
const LOW_HOURS = 72

const examples: readonly Example[] = [
  { route: 'GET /servers', berth: 'berth server list', sdk: 'servers.list' },
  { route: 'GET /account/balance', berth: 'berth balance', sdk: 'account.balance' },
]

export function OverviewPage() {
  const t = useOverviewText()
  const servers = useQuery(serversQuery({ limit: 200 }))
  const { data: balance } = useQuery(balanceQuery)
  return (
    <Page
      title={t.title}
      examples={examples}
      scope="servers:write"
      actions={
        <Link to="/servers/new" className="button" data-kind="primary">
          <Icon name="plus" />
          {t.newServer}
        </Link>
      }
    >
      <Loaded query={servers}>
        {({ items, total }) => (
          <div className="stack">
            {balance ? <Low balance={balance} /> : null}
            <Summary servers={items} total={total} balance={balance} />
            {total > 0 ? (
              <Attention servers={items} />
            ) : (
              <Allowed scope="servers:write">
                <FirstSteps />
              </Allowed>
            )}
            <Recent servers={items} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function Low({ balance: { hours_left } }: { balance: Balance }) {
  const t = useBillingText()
  return hours_left !== null && hours_left < LOW_HOURS ? (
    <Note tone="warn">{t.low(t.span(hours_left))}</Note>
  ) : null
}

interface SummaryProps {
  servers: readonly Server[]
  total: number
  balance: Balance | undefined
}

function Summary({ servers, total, balance }: SummaryProps) {
  const t = useOverviewText()
  const words = useServersText()
  const format = useFormats()
  const money = useMoneyFigures(balance)
  const running = servers.filter(({ status }) => status === 'running').length
  const rest = Map.groupBy(
    servers.filter(({ status }) => status !== 'running'),
    ({ status }) => status,
  )
  const others = [...rest].map(([status, list]) => t.other(list.length, words.statuses[status]))
  return (
    <Figures
      figures={[
        {
          title: t.servers,
          value: <Link to="/servers">{format.number(total)}</Link>,
          about: [t.running(running), ...others].join(' · '),
        },
        { ...money.balance, value: <Link to="/billing">{money.balance.value}</Link> },
        money.month,
      ]}
    />
  )
}

/** Lists the servers that need attention; empty if there are none. */
function Attention({ servers }: { servers: readonly Server[] }) {
  const t = useOverviewText()
  const reason = useReason()
  const wrong = servers.filter(({ status }) => status === 'error' || status === 'suspended')
  if (wrong.length === 0) return null
  return (
    <Card title={t.attention}>
      <ul className="body stack">
        {wrong.map(({ server_id, name, status, status_reason }) => (
          <li key={server_id} className="row">
            <ServerStatus status={status} />
            <Link to="/servers/$serverId" params={{ serverId: server_id }}>
              {name}
            </Link>
            {status_reason ? <span className="muted">{reason(status_reason)}</span> : null}
          </li>
        ))}
      </ul>
    </Card>
  )
}
