import './servers.css'
import type { Project, Server, Template, Zone } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'
import { projectsQuery } from '../account/queries.ts'
import { type Formats, UNKNOWN, useFormats } from '../format.ts'
import { useMay } from '../session.ts'
import { Copy } from '../ui/copy.tsx'
import { berthCommand, type Example } from '../ui/example.ts'
import { Icon } from '../ui/icon.tsx'
import { useKeys } from '../ui/keys.ts'
import { Page } from '../ui/page.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { useSteadyRows } from '../ui/steady-rows.ts'
import { type Column, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { BulkActions } from './bulk-actions.tsx'
import { Filters } from './filters.tsx'
import { PAGE, serversQuery, templatesQuery, zonesQuery } from './queries.ts'
import { filterOf, type ServersSearch } from './search.ts'
import { ServerStatus } from './server-status.tsx'
import { useServersText } from './text.ts'

const route = getRouteApi('/shell/servers')

export function ServersPage() {
  const t = useServersText()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const filter = filterOf(search)
  const query = useQuery(serversQuery(filter))
  const box = useRef<HTMLInputElement>(null)
  useKeys({ '/': () => box.current?.focus() })
  const change = (next: ServersSearch) => void navigate({ search: next, replace: true })
  const isFiltered = Object.keys(search).some((name) => name !== 'offset')
  return (
    <Page
      title={t.servers}
      about={query.data ? t.count(query.data.total) : undefined}
      examples={[exampleOf(filter)]}
      scope="servers:write"
      actions={<NewServer />}
    >
      <Filters box={box} search={search} onChange={change} />
      <Loaded query={query}>
        {({ items, total }) => (
          <>
            <List rows={items.filter((server) => matches(server, search.q))} isFiltered={isFiltered} />
            <Pager
              offset={search.offset ?? 0}
              limit={PAGE}
              total={total}
              onChange={(offset) => change({ ...search, offset })}
            />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function NewServer() {
  const t = useServersText()
  return (
    <Link to="/servers/new" className="button" data-kind="primary">
      <Icon name="plus" />
      {t.newServer}
    </Link>
  )
}

function List({ rows, isFiltered }: { rows: readonly Server[]; isFiltered: boolean }) {
  const t = useServersText()
  const navigate = route.useNavigate()
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const columns = useColumns()
  const may = useMay('servers:write')
  const { steady, hold } = useSteadyRows(rows, idOf)
  if (rows.length === 0)
    return (
      <div className="card">
        <Empty title={isFiltered ? t.noMatch : t.none}>
          <p>{isFiltered ? t.noMatchAbout : t.noneAbout}</p>
          {isFiltered ? (
            <Link to="/servers" className="button">
              {t.clear}
            </Link>
          ) : may ? (
            <NewServer />
          ) : null}
        </Empty>
      </div>
    )
  return (
    <>
      <BulkActions
        servers={rows.filter(({ server_id }) => ids.has(server_id))}
        onDone={() => setIds(new Set())}
      />
      <div {...hold}>
        <Table
          label={t.servers}
          rows={steady}
          columns={columns}
          idOf={idOf}
          nameOf={({ name }) => name}
          onOpen={({ server_id }) =>
            void navigate({ to: '/servers/$serverId', params: { serverId: server_id } })
          }
          selection={may ? { ids, onChange: setIds } : undefined}
        />
      </div>
    </>
  )
}

const idOf = ({ server_id }: Server) => server_id

function useColumns(): Column<Server>[] {
  const t = useServersText()
  const format = useFormats()
  const zones = useQuery(zonesQuery).data
  const templates = useQuery(templatesQuery).data
  const projects = useQuery(projectsQuery).data?.items
  return useMemo(
    () => columnsOf(t, format, { zones, templates, projects }),
    [t, format, zones, templates, projects],
  )
}

interface Names {
  zones: readonly Zone[] | undefined
  templates: readonly Template[] | undefined
  projects: readonly Project[] | undefined
}

function columnsOf(
  t: ReturnType<typeof useServersText>,
  format: Formats,
  { zones = [], templates = [], projects = [] }: Names,
): Column<Server>[] {
  return [
    { title: t.name, isWrapped: true, cell: (server) => <NameCell server={server} projects={projects} /> },
    { title: t.status, cell: ({ status }) => <ServerStatus status={status} /> },
    { title: t.address, cell: (server) => <AddressCell server={server} /> },
    {
      title: t.plan,
      cell: (server) => t.size(server.cpu, format.ram(server.ram_mb), server.disk_gb),
    },
    // One zone for all rows would say nothing.
    ...(zones.length === 1
      ? []
      : [{ title: t.zone, cell: ({ zone_slug }: Server) => zoneTitle(zones, zone_slug) }]),
    { title: t.image, isWrapped: true, cell: ({ template_id }) => imageTitle(templates, template_id) },
    { title: t.month, isNumber: true, cell: (server) => priceOf(server, format) },
    { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
  ]
}

const priceOf = ({ price_month_rub }: Server, format: Formats) => format.money(price_month_rub)
const zoneTitle = (zones: readonly Zone[], slug: string) =>
  zones.find(({ zone_slug }) => zone_slug === slug)?.title ?? slug
const imageTitle = (templates: readonly Template[], id: string | null) =>
  templates.find(({ template_id }) => template_id === id)?.title ?? UNKNOWN

function NameCell({ server, projects }: { server: Server; projects: readonly Project[] }) {
  const project =
    projects.length > 1 ? projects.find(({ project_id }) => project_id === server.project_id) : null
  return (
    <>
      <Link to="/servers/$serverId" params={{ serverId: server.server_id }} className="title">
        {server.name}
      </Link>
      {project && !project.is_default ? <span className="muted"> · {project.name}</span> : null}
    </>
  )
}

function AddressCell({ server: { ipv4, ipv6, ssh } }: { server: Server }) {
  const address = ipv4 ?? ipv6
  if (address) return <Copy text={address} />
  return ssh.port === null ? UNKNOWN : <Copy text={`${ssh.host}:${ssh.port}`} />
}

/** The API only filters by whole names, so the page filters the loaded rows by any part of their text. */
function matches({ name, ipv4, ipv6, ssh, labels }: Server, text = ''): boolean {
  const own = [
    name,
    ipv4,
    ipv6,
    `${ssh.host}:${ssh.port}`,
    ...Object.entries(labels).map((pair) => pair.join('=')),
  ]
  return own.some((part) => part?.toLowerCase().includes(text.toLowerCase()))
}

function exampleOf({ offset: _offset, ...filter }: ReturnType<typeof filterOf>): Example {
  const { status, zone_slug, project_id, label } = filter
  return {
    route: 'GET /servers',
    query: filter,
    berth: berthCommand('server list', { status, zone: zone_slug, project: project_id, label }),
    sdk: 'servers.list',
  }
}
