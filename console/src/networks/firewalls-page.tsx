import type { Firewall } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { RenameDialog } from '../account/rename-dialog.tsx'
import { berth, queryClient } from '../client.ts'
import { UNKNOWN } from '../format.ts'
import { firewallsQuery } from '../network-queries.ts'
import { zonesQuery } from '../servers/queries.ts'
import { DeleteResource } from '../ui/delete-resource.tsx'
import type { Example } from '../ui/example.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'
import { type Template, templateNames, templates } from './rules.ts'
import { useNetworksText } from './text.ts'

const examples: readonly Example[] = [
  { route: 'GET /firewalls', berth: 'berth firewall list', sdk: 'firewalls.list' },
  {
    route: 'POST /firewalls',
    body: { name: 'web', rules: templates.web },
    berth: 'berth firewall create web --template web',
    sdk: 'firewalls.create',
  },
]

const refresh = () => queryClient.invalidateQueries({ queryKey: ['firewall'] })

export function FirewallsPage() {
  const t = useNetworksText()
  const query = useQuery(firewallsQuery)
  const zones = useQuery(zonesQuery).data
  const isOffered = zones?.some(({ features }) => features.includes('firewalls'))
  const [renamed, setRenamed] = useState<Firewall | null>(null)
  const [deleted, setDeleted] = useState<Firewall | null>(null)
  return (
    <>
      <ResourcePage
        title={t.firewalls}
        about={t.firewallsAbout}
        query={query}
        idOf={({ firewall_id }) => firewall_id}
        nameOf={({ name }) => name}
        empty={{ title: t.noFirewalls, about: isOffered === false ? t.noFirewallZones : t.noFirewallsAbout }}
        examples={examples}
        scope="servers:write"
        columns={[
          { title: t.name, cell: (firewall) => <FirewallName firewall={firewall} /> },
          { title: t.rules, isNumber: true, cell: ({ rules }) => rules.length },
          { title: t.servers, isNumber: true, cell: ({ server_ids }) => server_ids.length },
          {
            title: t.selector,
            cell: ({ label_selector: labels }) => (labels ? <span className="tag">{labels}</span> : UNKNOWN),
          },
          { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        actionsOf={(firewall) => [
          { title: t.rename, onSelect: () => setRenamed(firewall) },
          {
            title: t.delete,
            icon: 'trash',
            isDangerous: true,
            isDisabled: firewall.server_ids.length > 0,
            onSelect: () => setDeleted(firewall),
          },
        ]}
        create={
          isOffered ? { title: t.newFirewall, form: (close) => <FirewallForm onCancel={close} /> } : undefined
        }
      />
      {renamed ? (
        <RenameDialog
          name={renamed.name}
          rename={(name) => berth.firewalls.update(renamed.firewall_id, { name })}
          onRenamed={refresh}
          onClose={() => setRenamed(null)}
        />
      ) : null}
      {deleted ? (
        <DeleteResource
          title={t.deleteFirewall(deleted.name)}
          name={deleted.name}
          resource="firewall"
          remove={() => berth.firewalls.delete(deleted.firewall_id)}
          onClose={() => setDeleted(null)}
        >
          <p>{t.deleteFirewallAbout}</p>
        </DeleteResource>
      ) : null}
    </>
  )
}

const FirewallName = ({ firewall: { firewall_id, name } }: { firewall: Firewall }) => (
  <Link to="/firewalls/$firewallId" params={{ firewallId: firewall_id }} className="title">
    {name}
  </Link>
)

/** A form with a name and initial rules; the firewall's page has the rest. */
function FirewallForm({ onCancel }: { onCancel: () => void }) {
  const t = useNetworksText()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [template, setTemplate] = useState<Template>('ssh')
  const create = useMutation({
    mutationFn: () => berth.firewalls.create({ name, rules: [...templates[template]] }),
    onSuccess: ({ firewall_id }) => {
      void refresh()
      void navigate({ to: '/firewalls/$firewallId', params: { firewallId: firewall_id } })
    },
  })
  return (
    <Form
      submit={t.newFirewall}
      mutation={create}
      isReady={name.trim() !== ''}
      onSubmit={() => create.mutate()}
      onCancel={onCancel}
    >
      <TextField label={t.name} value={name} autoFocus onChange={(event) => setName(event.target.value)} />
      <SelectField
        label={t.begin}
        value={template}
        options={templateNames.map((value) => ({ value, title: t.templates[value] }))}
        onChange={setTemplate}
      />
    </Form>
  )
}
