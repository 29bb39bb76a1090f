import type { Snapshot } from '@berth/sdk'
import { RenameDialog } from '../../account/rename-dialog.tsx'
import { berth, queryClient } from '../../client.ts'
import { DeleteResource } from '../../ui/delete-resource.tsx'
import { RestoreCopy } from './restore-copy.tsx'
import { useSnapshotsText } from './text.ts'

export type Asked = { what: 'rename' | 'delete' | 'restore'; snapshot: Snapshot } | null

export const refresh = () => queryClient.invalidateQueries({ queryKey: ['snapshot'] })

interface DialogsProps {
  asked: NonNullable<Asked>
  /** The name of its server. */
  server: string
  onClose: () => void
}

/** The dialog of an action on a snapshot. */
export function Dialogs({ asked: { what, snapshot }, server, onClose }: DialogsProps) {
  const t = useSnapshotsText()
  const { snapshot_id, name } = snapshot
  if (what === 'restore')
    return (
      <RestoreCopy
        serverId={snapshot.server_id}
        server={server}
        source={{ snapshot_id }}
        about={t.restoreAbout(name)}
        onClose={onClose}
      />
    )
  if (what === 'rename')
    return (
      <RenameDialog
        name={name}
        rename={(next) => berth.snapshots.update(snapshot_id, { name: next })}
        onRenamed={refresh}
        onClose={onClose}
      />
    )
  return (
    <DeleteResource
      title={t.deleteTitle(name)}
      name={name}
      resource="snapshot"
      remove={() => berth.snapshots.delete(snapshot_id)}
      onClose={onClose}
    >
      <p>{t.deleteAbout}</p>
    </DeleteResource>
  )
}
