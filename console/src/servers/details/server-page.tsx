import '../servers.css'
import { isBerthError, type ServerDetails } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useFormats } from '../../format.ts'
import { berthCommand, type Example } from '../../ui/example.ts'
import { Page } from '../../ui/page.tsx'
import { Empty, Loaded, Note } from '../../ui/states.tsx'
import { serverQuery } from '../queries.ts'
import { useReason } from '../reasons.ts'
import { ServerStatus } from '../server-status.tsx'
import { useServersText } from '../text.ts'
import { RunningOperation } from './running-operation.tsx'
import { ServerActions } from './server-actions.tsx'
import { useDetailsText } from './text.ts'

const route = getRouteApi('/shell/servers/$serverId')

/** A server's header and tabs. */
export function ServerPage() {
  const t = useDetailsText()
  const { serverId } = route.useParams()
  const query = useQuery(serverQuery(serverId))
  if (isBerthError(query.error) && query.error.status === 404)
    return (
      <div className="card">
        <Empty title={t.gone}>
          <Link to="/servers" className="button">
            {t.all}
          </Link>
        </Empty>
      </div>
    )
  return <Loaded query={query}>{(server) => <Known server={server} />}</Loaded>
}

function Known({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const words = useServersText()
  const format = useFormats()
  const reason = useReason()
  const { name, status, current_operation: operation } = server
  const size = words.size(server.cpu, format.ram(server.ram_mb), server.disk_gb)
  const about = [size, server.template?.title, server.zone?.title ?? server.zone_slug]
    .filter(Boolean)
    .join(' · ')
  return (
    <Page
      title={name}
      crumbs={<Link to="/servers">{words.servers}</Link>}
      beside={<ServerStatus status={status} />}
      about={about}
      examples={examplesOf(server)}
      scope="servers:write"
      actions={<ServerActions server={server} />}
    >
      {operation ? <RunningOperation operationId={operation.operation_id} /> : null}
      {server.status_reason ? (
        <Note tone={status === 'error' ? 'bad' : 'warn'}>
          {reason(server.status_reason)}
          {server.suspension_reason ? <p>{server.suspension_reason}</p> : null}
          {server.delete_at ? <p>{t.deleteAt(format.exact(server.delete_at))}</p> : null}
        </Note>
      ) : null}
      {server.rescue ? <Note tone="warn">{t.rescueNow}</Note> : null}
      <Tabs server={server} />
      <Outlet />
    </Page>
  )
}

function Tabs({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const nav = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // On phones the tabs scroll sideways, and the open tab could be out of sight.
  useEffect(() => {
    const open = pathname && nav.current?.querySelector('[aria-current="page"]')
    if (open) open.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [pathname])
  const hasConsole = server.zone?.features.includes('console') === true
  const hasScreen = server.zone?.features.includes('screen') === true
  const hasCopies = server.zone?.features.some((name) => name === 'backups' || name === 'snapshots') === true
  const tabs = [
    { to: '/servers/$serverId', title: t.tabs.overview },
    { to: '/servers/$serverId/metrics', title: t.tabs.metrics },
    ...(hasConsole ? [{ to: '/servers/$serverId/terminal', title: t.tabs.terminal } as const] : []),
    ...(hasScreen ? [{ to: '/servers/$serverId/screen', title: t.tabs.screen } as const] : []),
    { to: '/servers/$serverId/network', title: t.tabs.network },
    ...(hasCopies ? [{ to: '/servers/$serverId/backups', title: t.tabs.backups } as const] : []),
    { to: '/servers/$serverId/events', title: t.tabs.events },
    { to: '/servers/$serverId/settings', title: t.tabs.settings },
  ] as const
  return (
    <nav ref={nav} className="tabs" aria-label={server.name}>
      {tabs.map(({ to, title }) => (
        <Link
          key={to}
          to={to}
          params={{ serverId: server.server_id }}
          activeOptions={{ exact: true }}
          replace
        >
          {title}
        </Link>
      ))}
    </nav>
  )
}

function rescueExamples({ server_id, name, zone, allowed_actions }: ServerDetails): Example[] {
  const actions = (['rescue', 'unrescue'] as const).filter((action) => allowed_actions.includes(action))
  return actions.flatMap((action) =>
    action === 'unrescue' || zone?.features.includes('rescue')
      ? {
          route: `POST /servers/{server_id}/${action}` as const,
          path: { server_id },
          berth: `berth server ${action} ${name}`,
          sdk: `servers.${action}`,
        }
      : [],
  )
}

function examplesOf(server: ServerDetails): Example[] {
  const { server_id, name, template_id, template, zone, allowed_actions } = server
  const actions = (['start', 'stop', 'reboot'] as const).filter((action) => allowed_actions.includes(action))
  return [
    {
      route: 'GET /servers/{server_id}/details',
      path: { server_id },
      berth: `berth server show ${name}`,
      sdk: 'servers.details',
    },
    ...actions.map(
      (action): Example => ({
        route: `POST /servers/{server_id}/${action}` as const,
        path: { server_id },
        berth: `berth server ${action} ${name}`,
        sdk: `servers.${action}`,
      }),
    ),
    ...(allowed_actions.includes('reset_password') && zone?.features.includes('reset_password')
      ? [
          {
            route: 'POST /servers/{server_id}/reset_password',
            path: { server_id },
            berth: `berth server reset-password ${name}`,
            sdk: 'servers.resetPassword',
          } satisfies Example,
        ]
      : []),
    ...rescueExamples(server),
    {
      route: 'POST /servers/{server_id}/rebuild',
      path: { server_id },
      body: template ? { template: template.slug } : { template_id: template_id ?? '…' },
      berth: berthCommand(`server rebuild ${name}`, { template: template?.slug ?? template_id ?? '…' }),
      sdk: 'servers.rebuild',
    },
  ]
}
