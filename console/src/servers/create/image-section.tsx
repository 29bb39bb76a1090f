import type { Template } from '@berth/sdk'
import { Card } from '../../ui/page.tsx'
import { Choices } from './choices.tsx'
import { FamilyMark } from './family-mark.tsx'
import type { ChangeOrder, Order } from './order.ts'
import { useCreateText } from './text.ts'

interface ImageSectionProps {
  order: Order
  onChange: ChangeOrder
  templates: readonly Template[]
}

export function ImageSection({ order, onChange, templates }: ImageSectionProps) {
  const t = useCreateText()
  return (
    <Card title={t.image}>
      <Choices
        label={t.image}
        value={order.template}
        onChange={(template) => onChange({ template })}
        choices={templates.map(({ slug, title, os_family, min_disk_gb }) => ({
          value: slug,
          content: (
            <span className="with-mark">
              <FamilyMark family={os_family} />
              <span>
                <strong>{title}</strong>
                <span className="muted small">{t.smallestDisk(min_disk_gb)}</span>
              </span>
            </span>
          ),
        }))}
      />
    </Card>
  )
}
