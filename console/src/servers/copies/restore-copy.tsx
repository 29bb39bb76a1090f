import type { RestoreRequest } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { berth } from '../../client.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { refreshServers } from '../actions.ts'
import { useSnapshotsText } from './text.ts'

interface RestoreCopyProps {
  serverId: string
  /** The server's name. */
  server: string
  source: RestoreRequest
  about: string
  onClose: () => void
}

/** Asks whether a server returns to a snapshot or a backup. */
export function RestoreCopy({ serverId, server, source, about, onClose }: RestoreCopyProps) {
  const t = useSnapshotsText()
  const restore = useMutation({
    mutationFn: () => berth.servers.restore(serverId, source),
    onSuccess: onClose,
    onSettled: refreshServers,
  })
  return (
    <ConfirmDelete
      title={t.restoreTitle(server)}
      name={server}
      submit={t.restore}
      mutation={restore}
      onClose={onClose}
    >
      <p>{about}</p>
    </ConfirmDelete>
  )
}
