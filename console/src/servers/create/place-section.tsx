import type { Zone } from '@berth/sdk'
import { Segments } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Choices } from './choices.tsx'
import type { ChangeOrder, Order } from './order.ts'
import { useCreateText } from './text.ts'

interface PlaceSectionProps {
  order: Order
  onChange: ChangeOrder
  zones: readonly Zone[]
}

const vendors = { amd: 'AMD', intel: 'Intel' }

export function PlaceSection({ order, onChange, zones }: PlaceSectionProps) {
  const t = useCreateText()
  const zone = zones.find(({ zone_slug }) => zone_slug === order.zone_slug)
  const choose = (slug: string) => {
    const next = zones.find(({ zone_slug }) => zone_slug === slug)
    const [first = order.cpu_type] = next?.cpu_types ?? []
    // Choices that belong to the previous zone are dropped.
    onChange({
      zone_slug: slug,
      cpu_type: next?.cpu_types.includes(order.cpu_type) ? order.cpu_type : first,
      network_ids: [],
    })
  }
  return (
    <Card
      title={t.place}
      actions={
        zone && zone.cpu_types.length > 1 ? (
          <Segments
            label={t.cpuType}
            value={order.cpu_type}
            options={zone.cpu_types.map((value) => ({ value, title: vendors[value] }))}
            onChange={(cpu_type) => onChange({ cpu_type })}
          />
        ) : null
      }
    >
      <Choices
        label={t.zone}
        value={order.zone_slug}
        onChange={choose}
        choices={zones.map(({ zone_slug, title, city, is_available }) => ({
          value: zone_slug,
          isDisabled: !is_available,
          content: (
            <>
              <strong>{title}</strong>
              <span className="muted small">{is_available ? `${city} · ${zone_slug}` : t.soldOut}</span>
            </>
          ),
        }))}
      />
    </Card>
  )
}
