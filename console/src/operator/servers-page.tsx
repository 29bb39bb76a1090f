import type { OperatedServer } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { UNKNOWN } from '../format.ts'
import { Choice } from '../servers/filters.tsx'
import { zonesQuery } from '../servers/queries.ts'
import { ServerStatus } from '../servers/server-status.tsx'
import { useServersText } from '../servers/text.ts'
import { Copy, CopyId } from '../ui/copy.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { SearchInput } from '../ui/search-input.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import {
  type OperatedServersSearch,
  operatedAccountQuery,
  operatedServersQuery,
  PAGE,
  readOperatedServersSearch,
} from './queries.ts'
import { type ServerAction, ServerChange } from './server-change.tsx'
import { useOperatedServerText } from './server-text.ts'

const route = getRouteApi('/shell/operator/servers')

interface Chosen {
  server: OperatedServer
  action: ServerAction
}

/** The servers of all accounts, or of one, which operators find, stop, suspend and move. */
export function OperatedServersPage() {
  const t = useOperatedServerText()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(operatedServersQuery(search))
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const columns = useColumns(setChosen)
  const go = (next: OperatedServersSearch) => void navigate({ search: next, replace: true })
  return (
    <Page title={t.servers} about={search.account ? <OneAccount id={search.account} /> : t.about}>
      <Filters search={search} onChange={go} />
      <PagedTable
        query={query}
        empty={{ title: t.none, about: t.noneAbout }}
        label={t.servers}
        columns={columns}
        idOf={({ server_id }) => server_id}
        nameOf={({ name }) => name}
        page={{ offset: search.offset ?? 0, limit: PAGE, onChange: (offset) => go({ ...search, offset }) }}
      />
      {chosen ? <ServerChange {...chosen} onClose={() => setChosen(null)} /> : null}
    </Page>
  )
}

function OneAccount({ id }: { id: string }) {
  const t = useOperatedServerText()
  const { data: account } = useQuery(operatedAccountQuery(id))
  return (
    <>
      {t.aboutOf(account?.email ?? id)} <Link to="/operator/servers">{t.showAll}</Link>
    </>
  )
}

/** All filters are in the page's address. */
function Filters({
  search,
  onChange,
}: {
  search: OperatedServersSearch
  onChange: (search: OperatedServersSearch) => void
}) {
  const t = useOperatedServerText()
  const words = useServersText()
  const zones = useQuery(zonesQuery).data ?? []
  const change = (part: { [name in keyof OperatedServersSearch]?: string }) =>
    onChange(readOperatedServersSearch({ ...search, offset: undefined, ...part }))
  return (
    <search className="row filters">
      <SearchInput
        type="search"
        label={t.search}
        maxLength={64}
        style={{ width: 320 }}
        value={search.q ?? ''}
        onChange={(q) => change({ q: q.trim() })}
      />
      <Choice
        label={t.anyStatus}
        value={search.status}
        options={Object.entries(words.statuses).map(([value, title]) => ({ value, title }))}
        onChange={(status) => change({ status })}
      />
      {zones.length > 1 ? (
        <Choice
          label={t.anyZone}
          value={search.zone}
          options={zones.map(({ zone_slug, title }) => ({ value: zone_slug, title }))}
          onChange={(zone) => change({ zone })}
        />
      ) : null}
    </search>
  )
}

/** The service refuses what the state does not allow; the menu leaves out what never fits. */
function actionsOf({ status, suspension_reason }: OperatedServer): ServerAction[] {
  return [
    ...(status === 'stopped' || status === 'error' ? (['start'] as const) : []),
    ...(status === 'running' ? (['stop', 'reboot'] as const) : []),
    ...(status === 'stopped' ? (['move'] as const) : []),
    suspension_reason === null ? 'suspend' : 'resume',
    'delete',
  ]
}

const DANGEROUS: readonly ServerAction[] = ['suspend', 'delete']

function useColumns(choose: (chosen: Chosen) => void): Column<OperatedServer>[] {
  const t = useOperatedServerText()
  const itemsOf = (server: OperatedServer): MenuItem[] =>
    actionsOf(server).map((action) => ({
      title: t.actions[action],
      isDangerous: DANGEROUS.includes(action),
      onSelect: () => choose({ server, action }),
    }))
  return [
    {
      title: t.name,
      isWrapped: true,
      cell: ({ name, suspension_reason }) => (
        <>
          <span className="title">{name}</span>
          {suspension_reason === null ? null : (
            <span className="muted"> · {t.suspendedFor(suspension_reason)}</span>
          )}
        </>
      ),
    },
    { title: t.status, cell: ({ status }) => <ServerStatus status={status} /> },
    { title: t.zone, cell: ({ zone_slug }) => zone_slug },
    {
      title: t.address,
      cell: ({ ipv4, ipv6 }) => {
        const address = ipv4 ?? ipv6
        return address === null ? UNKNOWN : <Copy text={address} />
      },
    },
    { title: t.account, cell: ({ account_id: id }) => <CopyId id={id} /> },
    { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
    { title: 'ID', cell: ({ server_id: id }) => <CopyId id={id} /> },
    {
      title: '',
      isNumber: true,
      cell: (server) => <Menu label={t.actionsOf(server.name)} items={itemsOf(server)} />,
    },
  ]
}
