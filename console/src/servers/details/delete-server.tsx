import type { Server } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { berth } from '../../client.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { refreshServers } from '../actions.ts'
import { useServersText } from '../text.ts'

export function DeleteServer({ server, onClose }: { server: Server; onClose: () => void }) {
  const t = useServersText()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => berth.servers.delete(server.server_id),
    onSuccess: async () => {
      onClose()
      await navigate({ to: '/servers' })
      await refreshServers()
    },
  })
  return (
    <ConfirmDelete title={t.deleteTitle(server.name)} name={server.name} mutation={remove} onClose={onClose}>
      <p>{t.deleteAbout}</p>
      {server.backups_enabled ? <p>{t.deleteBackups}</p> : null}
    </ConfirmDelete>
  )
}
