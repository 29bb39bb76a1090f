import type { ServerDetails, ServerUpdate } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../../client.ts'
import { Button } from '../../ui/button.tsx'
import { Check, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Guarded } from '../../ui/guarded.tsx'
import { Card } from '../../ui/page.tsx'
import { useFieldError } from '../../ui/problems.ts'
import { Failed } from '../../ui/states.tsx'
import { refreshServers } from '../actions.ts'
import { readLabels } from '../create/order.ts'
import { DeleteServer } from './delete-server.tsx'
import { DriveCard } from './drive-card.tsx'
import { PasswordCard } from './password-card.tsx'
import { RebuildCard } from './rebuild-card.tsx'
import { RescueCard } from './rescue-card.tsx'
import { ResizeCard } from './resize-card.tsx'
import { useDetailsText } from './text.ts'
import { useServer } from './use-server.ts'

export function SettingsTab() {
  const server = useServer()
  return (
    <div className="narrow">
      <Guarded scope="servers:write">
        <div className="stack">
          <General server={server} />
          <ResizeCard key={`${server.cpu} ${server.ram_mb} ${server.disk_gb}`} server={server} />
          <PasswordCard server={server} />
          <DriveCard key={server.iso_id} server={server} />
          <RescueCard server={server} />
          <RebuildCard key={server.template_id} server={server} />
          <Danger server={server} />
        </div>
      </Guarded>
    </div>
  )
}

function useUpdate({ server_id }: ServerDetails) {
  return useMutation({
    mutationFn: (change: ServerUpdate) => berth.servers.update(server_id, change),
    onSettled: refreshServers,
  })
}

const written = (labels: Record<string, string>) =>
  Object.entries(labels)
    .map(([name, value]) => (value === '' ? name : `${name}=${value}`))
    .join(', ')

function General({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const [name, setName] = useState(server.name)
  const [description, setDescription] = useState(server.description ?? '')
  const [labels, setLabels] = useState(written(server.labels))
  const update = useUpdate(server)
  const fieldError = useFieldError(update.error)
  const read = readLabels(labels)
  const change = { name, description: description || null, ...(read ? { labels: read } : {}) }
  return (
    <Card title={t.general}>
      <div className="body">
        <Form
          submit={t.save}
          mutation={update}
          isReady={read !== null && name !== ''}
          onSubmit={() => update.mutate(change)}
        >
          <TextField
            label={t.name}
            error={fieldError('name')}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <TextField
            label={t.description}
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
          <TextField
            label={t.labels}
            hint={t.labelsHint}
            error={read ? null : t.labelsHint}
            value={labels}
            onChange={(event) => setLabels(event.target.value)}
          />
          <p role="status" className="muted small">
            {update.isSuccess ? t.saved : ''}
          </p>
        </Form>
      </div>
    </Card>
  )
}

function Danger({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const [isDeleting, setIsDeleting] = useState(false)
  const update = useUpdate(server)
  const isProtected = server.delete_protection
  return (
    <Card title={t.danger}>
      <div className="body stack">
        <Check
          checked={isProtected}
          disabled={update.isPending}
          onChange={(event) => update.mutate({ delete_protection: event.target.checked })}
        >
          {t.protect} <span className="muted">{t.protectAbout}</span>
        </Check>
        {update.error ? <Failed error={update.error} /> : null}
        <p className="muted">{isProtected ? t.protectedNow : t.dangerAbout}</p>
        <div>
          <Button
            kind="danger"
            icon="trash"
            disabled={isProtected || !server.allowed_actions.includes('delete')}
            onClick={() => setIsDeleting(true)}
          >
            {t.danger}
          </Button>
        </div>
        {isDeleting ? <DeleteServer server={server} onClose={() => setIsDeleting(false)} /> : null}
      </div>
    </Card>
  )
}
