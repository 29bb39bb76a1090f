import type { Server } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import { Failed } from '../ui/states.tsx'
import { forEach, type Power } from './actions.ts'
import { useServersText } from './text.ts'

const icons = { start: 'play', stop: 'stop', reboot: 'restart' } as const

/** Actions for all selected servers. */
export function BulkActions({ servers, onDone }: { servers: readonly Server[]; onDone: () => void }) {
  const t = useServersText()
  const [isDeleting, setIsDeleting] = useState(false)
  const ids = servers.map(({ server_id }) => server_id)
  const power = useMutation({
    mutationFn: (action: Power) => forEach(ids, (id) => berth.servers[action](id)),
    onSuccess: onDone,
  })
  const remove = useMutation({
    mutationFn: () => forEach(ids, (id) => berth.servers.delete(id)),
    onSuccess: () => {
      setIsDeleting(false)
      onDone()
    },
  })
  if (servers.length === 0) return null
  const [only] = servers
  return (
    <div className="stack">
      <div className="row bulk">
        <strong>{t.selected(servers.length)}</strong>
        {(['start', 'stop', 'reboot'] as const).map((action) => (
          <Button
            key={action}
            icon={icons[action]}
            isBusy={power.isPending}
            onClick={() => power.mutate(action)}
          >
            {t.actions[action]}
          </Button>
        ))}
        <Button icon="trash" onClick={() => setIsDeleting(true)}>
          {t.actions.delete}
        </Button>
      </div>
      {power.error ? <Failed error={power.error} /> : null}
      {isDeleting ? (
        <ConfirmDelete
          title={t.deleteMany(servers.length)}
          name={servers.length === 1 && only ? only.name : String(servers.length)}
          mutation={remove}
          onClose={() => setIsDeleting(false)}
        >
          <p>{t.deleteManyAbout}</p>
          <p className="mono">{servers.map(({ name }) => name).join(', ')}</p>
        </ConfirmDelete>
      ) : null}
    </div>
  )
}
