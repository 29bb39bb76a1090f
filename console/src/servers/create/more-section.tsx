import type { Zone } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { projectsQuery } from '../../account/queries.ts'
import { Check, SelectField, TextArea, TextField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { type ChangeOrder, type Order, readLabels } from './order.ts'
import { useCreateText } from './text.ts'

interface MoreSectionProps {
  order: Order
  onChange: ChangeOrder
  features: Zone['features']
  isNameWrong: boolean
}

export function MoreSection({ order, onChange, features, isNameWrong }: MoreSectionProps) {
  const t = useCreateText()
  const projects = useQuery(projectsQuery).data?.items ?? []
  const first = projects.find(({ is_default }) => is_default)?.project_id ?? ''
  return (
    <Card title={t.more}>
      <div className="body stack">
        <TextField
          label={t.name}
          hint={t.nameHint}
          error={isNameWrong ? t.nameError : null}
          placeholder={t.generated}
          maxLength={63}
          value={order.name}
          onChange={(event) => onChange({ name: event.target.value.trim() })}
        />
        {projects.length > 1 ? (
          <SelectField
            label={t.project}
            value={order.project_id || first}
            options={projects.map(({ project_id, name }) => ({ value: project_id, title: name }))}
            onChange={(project_id) => onChange({ project_id })}
          />
        ) : null}
        <TextField
          label={t.labels}
          hint={t.labelsHint}
          error={readLabels(order.labels) ? null : t.labelsError}
          value={order.labels}
          onChange={(event) => onChange({ labels: event.target.value })}
        />
        <TextArea
          label={t.userData}
          placeholder="#cloud-config"
          value={order.user_data}
          onChange={(event) => onChange({ user_data: event.target.value })}
        />
        {features.includes('backups') ? (
          <Check
            checked={order.backups_enabled}
            onChange={(event) => onChange({ backups_enabled: event.target.checked })}
          >
            {t.backUp}
          </Check>
        ) : null}
        <Check
          checked={order.delete_protection}
          onChange={(event) => onChange({ delete_protection: event.target.checked })}
        >
          {t.protect}
        </Check>
      </div>
    </Card>
  )
}
