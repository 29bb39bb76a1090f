import './networks.css'
import { type Firewall, isBerthError } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { firewallQuery } from '../network-queries.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { type Example, quoted } from '../ui/example.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Allowed, Guarded } from '../ui/guarded.tsx'
import { Card, Page } from '../ui/page.tsx'
import { useFieldError } from '../ui/problems.ts'
import { Empty, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { ServerName } from './network-page.tsx'
import { draftOf, type Rule, ruleOf } from './rules.ts'
import { RulesEditor } from './rules-editor.tsx'
import { useNetworksText } from './text.ts'
import { optionsOf, useServers } from './use-servers.ts'

const route = getRouteApi('/shell/firewalls/$firewallId')

const refresh = () => queryClient.invalidateQueries({ queryKey: ['firewall'] })

/** A firewall: its rules, and which servers have it. */
export function FirewallPage() {
  const t = useNetworksText()
  const { firewallId } = route.useParams()
  const query = useQuery(firewallQuery(firewallId))
  if (isBerthError(query.error) && query.error.status === 404)
    return (
      <div className="card">
        <Empty title={t.gone}>
          <Link to="/firewalls" className="button">
            {t.firewalls}
          </Link>
        </Empty>
      </div>
    )
  return <Loaded query={query}>{(firewall) => <Known key={firewallId} firewall={firewall} />}</Loaded>
}

function Known({ firewall }: { firewall: Firewall }) {
  const t = useNetworksText()
  const [drafts, setDrafts] = useState(() => firewall.rules.map(draftOf))
  return (
    <Page
      title={firewall.name}
      crumbs={<Link to="/firewalls">{t.firewalls}</Link>}
      about={t.rulesCount(firewall.rules.length)}
      scope="servers:write"
      examples={examplesOf(firewall, drafts.map(ruleOf))}
    >
      <div className="stack">
        <RulesEditor firewall={firewall} drafts={drafts} onChange={setDrafts} />
        <Servers firewall={firewall} />
        <Selector key={firewall.label_selector} firewall={firewall} />
      </div>
    </Page>
  )
}

function Servers({ firewall: { firewall_id, server_ids } }: { firewall: Firewall }) {
  const t = useNetworksText()
  const { nameOf } = useServers()
  const [detached, setDetached] = useState<string | null>(null)
  return (
    <Card title={t.servers}>
      {server_ids.length === 0 ? (
        <p className="body muted">{t.noServers}</p>
      ) : (
        <Table
          label={t.servers}
          rows={server_ids}
          idOf={(id) => id}
          columns={[
            { title: t.name, cell: (id) => <ServerName id={id} name={nameOf(id)} /> },
            {
              title: '',
              isNumber: true,
              cell: (id) => (
                <Allowed scope="servers:write">
                  <Button kind="quiet" onClick={() => setDetached(id)}>
                    {t.detach}
                  </Button>
                </Allowed>
              ),
            },
          ]}
        />
      )}
      <Allowed scope="servers:write">
        <div className="body">
          <AttachForm id={firewall_id} inside={server_ids} />
        </div>
      </Allowed>
      {detached ? (
        <Detach
          id={firewall_id}
          server={detached}
          name={nameOf(detached)}
          onClose={() => setDetached(null)}
        />
      ) : null}
    </Card>
  )
}

function AttachForm({ id, inside }: { id: string; inside: readonly string[] }) {
  const t = useNetworksText()
  const { servers } = useServers()
  const [server, setServer] = useState('')
  const attach = useMutation({
    mutationFn: () => berth.firewalls.attach(id, [server]),
    onSuccess: () => setServer(''),
    onSettled: refresh,
  })
  const others = servers.filter(({ server_id }) => !inside.includes(server_id))
  if (others.length === 0) return <p className="muted">{t.noMore}</p>
  return (
    <Form submit={t.attachNow} mutation={attach} isReady={server !== ''} onSubmit={() => attach.mutate()}>
      <div className="pair">
        <SelectField
          label={t.attach}
          value={server}
          options={optionsOf(others, t.choose)}
          onChange={setServer}
        />
      </div>
    </Form>
  )
}

interface DetachProps {
  id: string
  server: string
  name: string
  onClose: () => void
}

function Detach({ id, server, name, onClose }: DetachProps) {
  const t = useNetworksText()
  const detach = useMutation({
    mutationFn: () => berth.firewalls.detach(id, server),
    onSuccess: onClose,
    onSettled: refresh,
  })
  return (
    <Dialog title={t.detachTitle(name)} onClose={onClose}>
      <Form submit={t.detach} mutation={detach} onSubmit={() => detach.mutate()} onCancel={onClose}>
        <p>{t.detachFirewallAbout}</p>
      </Form>
    </Dialog>
  )
}

function Selector({ firewall: { firewall_id, label_selector } }: { firewall: Firewall }) {
  const t = useNetworksText()
  const [typed, setTyped] = useState(label_selector ?? '')
  const save = useMutation({
    mutationFn: () => berth.firewalls.update(firewall_id, { label_selector: typed.trim() || null }),
    onSettled: refresh,
  })
  const fieldError = useFieldError(save.error)
  return (
    <Card title={t.selector}>
      <div className="body">
        <Guarded scope="servers:write">
          <Form
            submit={t.saveSelector}
            mutation={save}
            isReady={typed.trim() !== (label_selector ?? '')}
            onSubmit={() => save.mutate()}
          >
            <p className="muted">{t.selectorAbout}</p>
            <TextField
              label={t.labels}
              hint={t.selectorHint}
              error={fieldError('label_selector')}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </Form>
        </Guarded>
      </div>
    </Card>
  )
}

function examplesOf({ firewall_id, name }: Firewall, rules: Rule[]): Example[] {
  return [
    {
      route: 'GET /firewalls/{firewall_id}',
      path: { firewall_id },
      berth: `berth firewall show ${quoted(name)}`,
      sdk: 'firewalls.get',
    },
    {
      route: 'PATCH /firewalls/{firewall_id}',
      path: { firewall_id },
      body: { rules },
      berth: null,
      sdk: 'firewalls.update',
    },
    {
      route: 'POST /firewalls/{firewall_id}/servers',
      path: { firewall_id },
      body: { server_ids: ['…'] },
      berth: `berth firewall attach ${quoted(name)} web-1`,
      sdk: `firewalls.attach('${firewall_id}', ['…'])`,
    },
  ]
}
