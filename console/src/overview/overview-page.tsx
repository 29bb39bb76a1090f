import '../account/account.css'
import './overview.css'
import type { Balance, Server } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { balanceQuery, lastMonths, usageQuery } from '../billing/queries.ts'
import { useFormats } from '../format.ts'
import { serversQuery } from '../servers/queries.ts'
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
            {balance ? <Money balance={balance} /> : null}
            <Figures servers={items} total={total} balance={balance} />
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

function Money({ balance: { hours_left } }: { balance: Balance }) {
  const t = useOverviewText()
  return hours_left !== null && hours_left < LOW_HOURS ? <Note tone="warn">{t.low(hours_left)}</Note> : null
}

interface FiguresProps {
  servers: readonly Server[]
  total: number
  balance: Balance | undefined
}

function Figures({ servers, total, balance }: FiguresProps) {
  const t = useOverviewText()
  const words = useServersText()
  const format = useFormats()
  const [month = ''] = lastMonths(new Date())
  const { data: usage } = useQuery(usageQuery(month))
  const running = servers.filter(({ status }) => status === 'running').length
  const rest = Map.groupBy(
    servers.filter(({ status }) => status !== 'running'),
    ({ status }) => status,
  )
  const others = [...rest].map(([status, list]) => t.other(list.length, words.statuses[status]))
  return (
    <div className="card figures">
      <div>
        <span className="muted">{t.servers}</span>
        <strong>
          <Link to="/servers">{format.number(total)}</Link>
        </strong>
        <span className="muted small">{[t.running(running), ...others].join(' · ')}</span>
      </div>
      <div>
        <span className="muted">{t.balance}</span>
        <strong>
          <Link to="/billing">{format.money(balance?.balance ?? null)}</Link>
        </strong>
        <span className="muted small">
          {balance === undefined
            ? ''
            : balance.hours_left === null
              ? t.nothingBilled
              : t.lasts(balance.hours_left)}
        </span>
      </div>
      <div>
        <span className="muted">{t.thisMonth}</span>
        <strong>{format.money(usage?.amount ?? null)}</strong>
        <span className="muted small">{balance ? t.perMonth(format.money(balance.cost_month_rub)) : ''}</span>
      </div>
    </div>
  )
}

/** Lists the servers that need attention; empty if there are none. */
function Attention({ servers }: { servers: readonly Server[] }) {
  const t = useOverviewText()
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
            <code className="muted">{status_reason}</code>
          </li>
        ))}
      </ul>
    </Card>
  )
}
