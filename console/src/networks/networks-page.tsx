import type { Network, Zone } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { RenameDialog } from '../account/rename-dialog.tsx'
import { berth, queryClient } from '../client.ts'
import { networksQuery } from '../network-queries.ts'
import { zonesQuery } from '../servers/queries.ts'
import { DeleteResource } from '../ui/delete-resource.tsx'
import type { Example } from '../ui/example.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'
import { useNetworksText } from './text.ts'

const examples: readonly Example[] = [
  { route: 'GET /networks', berth: 'berth network list', sdk: 'networks.list' },
  {
    route: 'POST /networks',
    body: { name: 'backend', zone_slug: 'local-1', ip_range: '10.1.0.0/24' },
    berth: 'berth network create backend --range 10.1.0.0/24',
    sdk: 'networks.create',
  },
]

const refresh = () => queryClient.invalidateQueries({ queryKey: ['network'] })

export function NetworksPage() {
  const t = useNetworksText()
  const query = useQuery(networksQuery)
  const zones = useQuery(zonesQuery).data
  const offering = (zones ?? []).filter(({ features }) => features.includes('private_networks'))
  const [renamed, setRenamed] = useState<Network | null>(null)
  const [deleted, setDeleted] = useState<Network | null>(null)
  return (
    <>
      <ResourcePage
        title={t.networks}
        about={t.networksAbout}
        query={query}
        idOf={({ network_id }) => network_id}
        nameOf={({ name }) => name}
        empty={{
          title: t.noNetworks,
          about: zones && offering.length === 0 ? t.noNetworkZones : t.noNetworksAbout,
        }}
        examples={examples}
        scope="servers:write"
        columns={[
          { title: t.name, cell: (network) => <NetworkName network={network} /> },
          { title: t.range, cell: ({ ip_range }) => <span className="mono">{ip_range}</span> },
          { title: t.zone, cell: ({ zone_slug }) => zone_slug },
          { title: t.servers, isNumber: true, cell: ({ servers }) => servers.length },
          { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        actionsOf={(network) => [
          { title: t.rename, onSelect: () => setRenamed(network) },
          {
            title: t.delete,
            icon: 'trash',
            isDangerous: true,
            isDisabled: network.servers.length > 0,
            onSelect: () => setDeleted(network),
          },
        ]}
        create={
          offering.length > 0
            ? { title: t.newNetwork, form: (close) => <NetworkForm zones={offering} onDone={close} /> }
            : undefined
        }
      />
      {renamed ? (
        <RenameDialog
          name={renamed.name}
          rename={(name) => berth.networks.update(renamed.network_id, { name })}
          onRenamed={refresh}
          onClose={() => setRenamed(null)}
        />
      ) : null}
      {deleted ? (
        <DeleteResource
          title={t.deleteNetwork(deleted.name)}
          name={deleted.name}
          resource="network"
          remove={() => berth.networks.delete(deleted.network_id)}
          onClose={() => setDeleted(null)}
        >
          <p>{t.deleteNetworkAbout}</p>
        </DeleteResource>
      ) : null}
    </>
  )
}

const NetworkName = ({ network: { network_id, name } }: { network: Network }) => (
  <Link to="/networks/$networkId" params={{ networkId: network_id }} className="title">
    {name}
  </Link>
)

function NetworkForm({ zones, onDone }: { zones: readonly Zone[]; onDone: () => void }) {
  const t = useNetworksText()
  const [name, setName] = useState('')
  const [range, setRange] = useState('10.1.0.0/24')
  const [chosen, setZone] = useState('')
  const zone_slug = chosen || (zones[0]?.zone_slug ?? '')
  const create = useMutation({
    mutationFn: () => berth.networks.create({ name, zone_slug, ip_range: range.trim() }),
    onSuccess: async () => {
      await refresh()
      onDone()
    },
  })
  const fieldError = useFieldError(create.error)
  return (
    <Form
      submit={t.newNetwork}
      mutation={create}
      isReady={name.trim() !== '' && range.trim() !== '' && zone_slug !== ''}
      onSubmit={() => create.mutate()}
      onCancel={onDone}
    >
      <TextField label={t.name} value={name} autoFocus onChange={(event) => setName(event.target.value)} />
      <TextField
        label={t.range}
        hint={t.rangeHint}
        error={fieldError('ip_range')}
        className="input mono"
        value={range}
        onChange={(event) => setRange(event.target.value)}
      />
      {zones.length > 1 ? (
        <SelectField
          label={t.zone}
          value={zone_slug}
          options={zones.map(({ zone_slug: value, title }) => ({ value, title }))}
          onChange={setZone}
        />
      ) : null}
    </Form>
  )
}
