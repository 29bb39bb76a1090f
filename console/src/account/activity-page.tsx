import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { UNKNOWN } from '../format.ts'
import { Copy } from '../ui/copy.tsx'
import type { Example } from '../ui/example.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'
import { auditQuery, PAGE } from './queries.ts'
import { useAccountText } from './text.ts'

const route = getRouteApi('/shell/account/activity')

const examples: readonly Example[] = [
  { route: 'GET /account/audit', berth: 'berth audit list', sdk: 'audit.list' },
]

/** `create_server` or `createServer`, as people read it. */
const readable = (action: string) =>
  action
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()

export function ActivityPage() {
  const t = useAccountText()
  const { offset = 0 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(auditQuery(offset))
  return (
    <ResourcePage
      title={t.activity}
      about={t.activityAbout}
      query={query}
      idOf={({ audit_id }) => audit_id}
      nameOf={({ action }) => action}
      empty={{ title: t.noActivity, about: t.activityAbout }}
      examples={examples}
      scope="account:read"
      columns={[
        { title: t.time, cell: ({ created_at }) => <Time at={created_at} /> },
        { title: t.action, cell: ({ action }) => readable(action) },
        { title: t.object, cell: ({ object_id }) => (object_id ? <Copy text={object_id} /> : UNKNOWN) },
        { title: t.address, cell: ({ address }) => <span className="mono">{address ?? UNKNOWN}</span> },
        {
          title: t.request,
          cell: ({ request_id }) => <Copy text={request_id} shown={request_id.slice(0, 8)} />,
        },
      ]}
      page={{ offset, limit: PAGE, onChange: (next) => void navigate({ search: { offset: next } }) }}
    />
  )
}
