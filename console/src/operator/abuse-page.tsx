import type { AbuseSign } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { UNKNOWN, useFormats } from '../format.ts'
import { Select } from '../ui/field.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useAbuseText } from './abuse-text.ts'
import { FreezeButton } from './freeze-button.tsx'
import { type AbuseSearch, abuseQuery, PAGE, readAbuseSearch } from './queries.ts'

const route = getRouteApi('/shell/operator/abuse')

/** Signs of abuse, each with the action to take. */
export function AbusePage() {
  const t = useAbuseText()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(abuseQuery(search))
  const columns = useColumns()
  const kinds = Object.entries(t.kinds).map(([value, title]) => ({ value, title }))
  const go = (next: AbuseSearch) => void navigate({ search: next, replace: true })
  return (
    <Page title={t.title} about={t.about}>
      <search className="row">
        <Select
          aria-label={t.kind}
          value={search.kind ?? ''}
          options={[{ value: '', title: t.anyKind }, ...kinds]}
          onChange={(kind) => go(readAbuseSearch({ kind }))}
        />
      </search>
      <PagedTable
        query={query}
        empty={{ title: t.none }}
        label={t.title}
        columns={columns}
        idOf={({ sign_id }) => sign_id}
        page={{ offset: search.offset ?? 0, limit: PAGE, onChange: (offset) => go({ ...search, offset }) }}
      />
    </Page>
  )
}

function useColumns(): Column<AbuseSign>[] {
  const t = useAbuseText()
  const format = useFormats()
  return [
    { title: t.kind, cell: ({ kind }) => <span className="title">{t.kinds[kind]}</span> },
    { title: t.accounts, isWrapped: true, cell: (sign) => <Accounts sign={sign} /> },
    {
      title: t.place,
      cell: ({ server_id, server_name, network }) =>
        network ? <span className="mono">{network}</span> : (server_name ?? server_id ?? UNKNOWN),
    },
    { title: t.since, cell: ({ since }) => <Time at={since} /> },
    { title: t.seen, cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
    {
      title: t.figure,
      cell: ({ figure, peak, unit }) => (
        <>
          {t.units[unit](format.number(figure))}
          {peak > figure ? <div className="muted small">{t.peak(format.number(peak))}</div> : null}
        </>
      ),
    },
    { title: t.remedy, isWrapped: true, cell: ({ kind }) => t.remedies[kind] },
  ]
}

/** The accounts, each with a link to where it is frozen or suspended. */
function Accounts({ sign: { accounts, unit, figure } }: { sign: AbuseSign }) {
  const t = useAbuseText()
  const format = useFormats()
  const rest = unit === 'accounts' ? figure - accounts.length : 0
  return (
    <>
      {accounts.map(({ account_id, email, is_frozen }) => (
        <div key={account_id}>
          <Link to="/operator" search={{ q: account_id }}>
            {email}
          </Link>
          {is_frozen ? (
            <span className="tag">{t.frozen}</span>
          ) : (
            <FreezeButton account={{ account_id, email }} />
          )}
        </div>
      ))}
      {rest > 0 ? <div className="muted small">{t.more(format.number(rest))}</div> : null}
    </>
  )
}
