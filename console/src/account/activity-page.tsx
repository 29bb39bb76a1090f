import type { AuditEntry } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { UNKNOWN, useFormats } from '../format.ts'
import { Copy, CopyId } from '../ui/copy.tsx'
import type { Example } from '../ui/example.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'
import { useActionText } from './action-text.ts'
import { auditQuery, PAGE, tokensQuery } from './queries.ts'
import { useAccountText } from './text.ts'

const route = getRouteApi('/shell/account/activity')

const examples: readonly Example[] = [
  { route: 'GET /account/audit', berth: 'berth audit list', sdk: 'audit.list' },
]

/** The user or token that made a request; commands of the operator have neither. */
function Who({ entry: { person_email, token_id } }: { entry: AuditEntry }) {
  const t = useAccountText()
  const tokens = useQuery(tokensQuery).data?.items
  if (person_email) return person_email
  if (!token_id) return t.operator
  const name = tokens?.find((token) => token.token_id === token_id)?.name
  return (
    <>
      <span className="muted">{t.token}</span> {name ?? <CopyId id={token_id} />}
    </>
  )
}

export function ActivityPage() {
  const t = useAccountText()
  const actions: Readonly<Record<string, string>> = useActionText()
  const { money } = useFormats()
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
        {
          title: t.action,
          isWrapped: true,
          cell: ({ action, amount }) =>
            `${actions[action] ?? action}${amount === null ? '' : `: ${money(amount)}`}`,
        },
        { title: t.who, isWrapped: true, cell: (entry) => <Who entry={entry} /> },
        { title: t.object, cell: ({ object_id }) => (object_id ? <Copy text={object_id} /> : UNKNOWN) },
        { title: t.address, cell: ({ address }) => <span className="mono">{address ?? UNKNOWN}</span> },
        {
          title: t.request,
          cell: ({ request_id }) => <CopyId id={request_id} />,
        },
      ]}
      page={{ offset, limit: PAGE, onChange: (next) => void navigate({ search: { offset: next } }) }}
    />
  )
}
