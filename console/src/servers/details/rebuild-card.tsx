import type { ServerDetails } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../../client.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Failed } from '../../ui/states.tsx'
import { refreshServers } from '../actions.ts'
import { templatesQuery } from '../queries.ts'
import { useDetailsText } from './text.ts'

/** The choice of another operating system, which replaces the disk. */
export function RebuildCard({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const [templateId, setTemplateId] = useState(server.template_id)
  const [isAsking, setIsAsking] = useState(false)
  const templates = useQuery(templatesQuery)
  const rebuild = useMutation({
    mutationFn: () => berth.servers.rebuild(server.server_id, { template_id: templateId }),
    onSuccess: () => setIsAsking(false),
    onSettled: refreshServers,
  })
  const fitting = (templates.data ?? []).filter(({ min_disk_gb }) => min_disk_gb <= server.disk_gb)
  const isOffered = fitting.some(({ template_id }) => template_id === templateId)
  const options = fitting.map(({ template_id, title }) => ({ value: template_id, title }))
  return (
    <Card title={t.rebuild}>
      <div className="body stack">
        <p className="muted">{server.delete_protection ? t.protectedNow : t.rebuildAbout}</p>
        {templates.error ? <Failed error={templates.error} /> : null}
        <SelectField
          label={t.image}
          value={isOffered ? templateId : ''}
          options={isOffered ? options : [{ value: '', title: '—' }, ...options]}
          onChange={setTemplateId}
        />
        <div>
          <Button
            kind="danger"
            icon="restart"
            disabled={!isOffered || !server.allowed_actions.includes('rebuild')}
            onClick={() => setIsAsking(true)}
          >
            {t.rebuild}
          </Button>
        </div>
        {isAsking ? (
          <ConfirmDelete
            title={t.rebuildTitle(server.name)}
            name={server.name}
            submit={t.rebuild}
            mutation={rebuild}
            onClose={() => setIsAsking(false)}
          >
            <p>{t.rebuildConfirm}</p>
          </ConfirmDelete>
        ) : null}
      </div>
    </Card>
  )
}
