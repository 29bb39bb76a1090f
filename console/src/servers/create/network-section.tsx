import type { Zone } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { firewallsQuery, networksQuery } from '../../network-queries.ts'
import { Check, TextField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { type ChangeOrder, type Order, readPorts } from './order.ts'
import { useCreateText } from './text.ts'

interface NetworkSectionProps {
  order: Order
  onChange: ChangeOrder
  zone: Zone
}

const OFFERS: readonly Zone['features'][number][] = [
  'public_ipv4',
  'public_ipv6',
  'published_ports',
  'private_networks',
  'firewalls',
]

/** The addresses, ports, networks and firewalls that the zone offers; empty if it offers none. */
export function NetworkSection({ order, onChange, zone: { zone_slug, features } }: NetworkSectionProps) {
  const t = useCreateText()
  const hasNetworks = features.includes('private_networks')
  const hasFirewalls = features.includes('firewalls')
  const networks = useQuery({ ...networksQuery, enabled: hasNetworks }).data?.items ?? []
  const firewalls = useQuery({ ...firewallsQuery, enabled: hasFirewalls }).data?.items ?? []
  const here = networks.filter((network) => network.zone_slug === zone_slug)
  const families = [
    { feature: 'public_ipv4', name: 'enable_ipv4', title: t.ipv4 },
    { feature: 'public_ipv6', name: 'enable_ipv6', title: t.ipv6 },
  ] as const
  if (!features.some((feature) => OFFERS.includes(feature))) return null
  return (
    <Card title={t.network}>
      <div className="body stack">
        {families
          .filter(({ feature }) => features.includes(feature))
          .map(({ name, title }) => (
            <Check
              key={name}
              checked={order[name]}
              onChange={(event) => onChange({ [name]: event.target.checked })}
            >
              {title}
            </Check>
          ))}
        {features.includes('published_ports') ? (
          <TextField
            label={t.ports}
            hint={t.portsHint}
            error={readPorts(order.ports) ? null : t.portsError}
            value={order.ports}
            onChange={(event) => onChange({ ports: event.target.value })}
          />
        ) : null}
        <Several
          title={t.networks}
          options={here.map(({ network_id, name, ip_range }) => ({ id: network_id, name, about: ip_range }))}
          chosen={order.network_ids}
          onChange={(network_ids) => onChange({ network_ids })}
        />
        <Several
          title={t.firewalls}
          options={firewalls.map(({ firewall_id, name }) => ({ id: firewall_id, name, about: '' }))}
          chosen={order.firewall_ids}
          onChange={(firewall_ids) => onChange({ firewall_ids })}
        />
      </div>
    </Card>
  )
}

interface SeveralProps {
  title: string
  options: readonly { id: string; name: string; about: string }[]
  chosen: readonly string[]
  onChange: (ids: readonly string[]) => void
}

function Several({ title, options, chosen, onChange }: SeveralProps) {
  if (options.length === 0) return null
  return (
    <fieldset className="stack" style={{ gap: 8 }}>
      <legend className="legend">{title}</legend>
      {options.map(({ id, name, about }) => (
        <Check
          key={id}
          checked={chosen.includes(id)}
          onChange={() =>
            onChange(chosen.includes(id) ? chosen.filter((own) => own !== id) : [...chosen, id])
          }
        >
          {name} <span className="mono muted">{about}</span>
        </Check>
      ))}
    </fieldset>
  )
}
