import { Card } from '../../ui/page.tsx'
import type { System } from '../systems.ts'
import { Choices } from './choices.tsx'
import { FamilyMark } from './family-mark.tsx'
import type { ChangeOrder, Order } from './order.ts'
import { useCreateText } from './text.ts'

interface ImageSectionProps {
  order: Order
  onChange: ChangeOrder
  systems: readonly System[]
}

export function ImageSection({ order, onChange, systems }: ImageSectionProps) {
  const t = useCreateText()
  return (
    <Card title={t.image}>
      <Choices
        label={t.image}
        value={order.system}
        onChange={(system) => onChange({ system })}
        choices={systems.map(({ value, title, osFamily, minDiskGb }) => ({
          value,
          content: (
            <span className="with-mark">
              <FamilyMark family={osFamily} />
              <span>
                <strong>{title}</strong>
                <span className="muted small">{t.smallestDisk(minDiskGb)}</span>
              </span>
            </span>
          ),
        }))}
      />
    </Card>
  )
}
