import type { ServerDetails } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../../client.ts'
import { imagesQuery } from '../../image-queries.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Failed } from '../../ui/states.tsx'
import { refreshServers } from '../actions.ts'
import { templatesQuery } from '../queries.ts'
import { sourceOf, systemsOf } from '../systems.ts'
import { useDetailsText } from './text.ts'

/** The choice of another operating system, which replaces the disk. */
export function RebuildCard({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const [system, setSystem] = useState(server.template?.slug ?? '')
  const [isAsking, setIsAsking] = useState(false)
  const templates = useQuery(templatesQuery)
  const images = useQuery(imagesQuery)
  const rebuild = useMutation({
    mutationFn: () => berth.servers.rebuild(server.server_id, sourceOf(system)),
    onSuccess: () => setIsAsking(false),
    onSettled: refreshServers,
  })
  const fitting = systemsOf(templates.data ?? [], images.data?.items ?? [], server.zone_slug).filter(
    ({ minDiskGb }) => minDiskGb <= server.disk_gb,
  )
  const isOffered = fitting.some(({ value }) => value === system)
  return (
    <Card title={t.rebuild}>
      <div className="body stack">
        <p className="muted">{server.delete_protection ? t.protectedNow : t.rebuildAbout}</p>
        {templates.error ? <Failed error={templates.error} /> : null}
        <SelectField
          label={t.image}
          value={isOffered ? system : ''}
          options={isOffered ? fitting : [{ value: '', title: '—' }, ...fitting]}
          onChange={setSystem}
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
