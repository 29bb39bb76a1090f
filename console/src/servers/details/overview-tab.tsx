import type { ServerDetails } from '@berth/sdk'
import { UNKNOWN, useFormats } from '../../format.ts'
import { Command, Copy } from '../../ui/copy.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { Health } from './health.tsx'
import { useDetailsText } from './text.ts'
import { useServer } from './use-server.ts'

/** The essentials of a server: how to log in, its health and its cost. */
export function OverviewTab() {
  const server = useServer()
  return (
    <div className="stack">
      <Login server={server} />
      <Health server={server} />
      <div className="columns">
        <About server={server} />
        <Cost server={server} />
      </div>
    </div>
  )
}

function Login({ server: { ssh } }: { server: ServerDetails }) {
  const t = useDetailsText()
  const [host] = ssh.host_key_fingerprints
  return (
    <Card title={t.connect}>
      <div className="body stack">
        {ssh.command ? <Command text={ssh.command} /> : null}
        {ssh.is_ready ? null : <p className="muted">{t.notReady}</p>}
        <Facts
          facts={[
            ...(ssh.password ? [[t.password, <Secret key="password" text={ssh.password} />] as const] : []),
            ...(ssh.keys.length > 0 ? [[t.keys, ssh.keys.map(({ name }) => name).join(', ')] as const] : []),
            ...(host
              ? [
                  [
                    t.hostKeys,
                    <span key="host" title={t.hostKeysHint}>
                      <Copy text={host.fingerprint} />
                    </span>,
                  ] as const,
                ]
              : []),
          ]}
        />
      </div>
    </Card>
  )
}

/** Copies the password without showing it on the screen. */
const Secret = ({ text }: { text: string }) => <Copy text={text} shown={'•'.repeat(12)} />

function About({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const labels = Object.entries(server.labels)
  return (
    <Card title={t.about}>
      <div className="body">
        <Facts
          facts={[
            [t.id, <Copy key="id" text={server.server_id} />],
            [t.project, server.project.name],
            [t.processor, server.cpu_type === 'amd' ? 'AMD' : 'Intel'],
            [t.started, <Time key="started" at={server.started_at} />],
            [
              t.labels,
              labels.length === 0 ? (
                UNKNOWN
              ) : (
                <span key="labels" className="row" style={{ gap: 4 }}>
                  {labels.map(([name, value]) => (
                    <span key={name} className="tag">
                      {value === '' ? name : `${name}=${value}`}
                    </span>
                  ))}
                </span>
              ),
            ],
          ]}
        />
      </div>
    </Card>
  )
}

function Cost({ server: { billing } }: { server: ServerDetails }) {
  const t = useDetailsText()
  const format = useFormats()
  return (
    <Card title={t.cost}>
      <div className="body stack">
        <Facts
          facts={[
            [t.perMonth, format.money(billing.price_month_rub)],
            [t.perHour, format.money(billing.price_hour_rub, 4)],
            [t.thisMonth, format.money(billing.month_to_date_rub)],
            [t.since, billing.billed_since ? format.exact(billing.billed_since) : UNKNOWN],
          ]}
        />
        {billing.is_billed_when_stopped ? <p className="muted small">{t.stopped}</p> : null}
      </div>
    </Card>
  )
}
