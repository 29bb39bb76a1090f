import type { Berth, ServerUpdate } from '@berth/sdk'
import { Command } from 'commander'
import { nothingToChange } from '../errors.ts'
import { idOf } from '../find.ts'
import { wholeNumber } from '../flags.ts'
import { type LabelChanges, type Labels, labelsAfter, withLabelChanges } from '../labels.ts'
import { projectKind } from '../project.ts'
import { action } from '../session.ts'
import { serverKind } from './kind.ts'
import { showServer } from './show.ts'

interface UpdateOptions extends LabelChanges {
  name?: string
  description?: string
  project?: string
  deleteProtection?: boolean
  backups?: boolean
  backupWindow?: number
}

export function updateCommand(): Command {
  const command = new Command('update')
    .description('change the name, labels and other properties of a server')
    .argument('<server>', 'name or id')
    .option('--name <name>', 'host name')
    .option('--description <text>', "description; '' removes it")
  return withLabelChanges(command)
    .option('--project <project>', 'project to move it to, by name or id')
    .option('--delete-protection', 'protect it from deletion')
    .option('--no-delete-protection', 'allow it to be deleted')
    .option('--backups', 'back it up every day')
    .option('--no-backups', 'end its backups; those that exist stay for a week')
    .option('--backup-window <hour>', 'hour of the day (UTC) of the backups', wholeNumber)
    .action(
      action(async (session, given: string, options: UpdateOptions) => {
        const { berth } = session
        if (Object.keys(options).length === 0) throw nothingToChange('server')
        const server_id = await idOf(berth, serverKind, given)
        const { labels, ifMatch } = await labelsOf(berth, server_id, options)
        const { name, description, project, deleteProtection, backups, backupWindow } = options
        const changes: ServerUpdate = {
          name,
          description: description === '' ? null : description,
          labels,
          project_id: project === undefined ? undefined : await idOf(berth, projectKind, project),
          delete_protection: deleteProtection,
          backups_enabled: backups,
          backup_window: backupWindow,
        }
        await berth.servers.update(server_id, changes, { ifMatch })
        await showServer(session, server_id)
      }),
    )
}

/** The API replaces all labels: the kept ones are sent too, with an ETag in case they have changed meanwhile. */
async function labelsOf(
  berth: Berth,
  server_id: string,
  options: LabelChanges,
): Promise<{ labels?: Labels; ifMatch?: string }> {
  if (!options.label && !options.removeLabel) return {}
  let ifMatch: string | null = null
  const server = await berth.servers.get(server_id, {
    onReply: ({ headers }) => {
      ifMatch = headers.get('etag')
    },
  })
  const labels = labelsAfter(server, options)
  return ifMatch === null ? labels : { ...labels, ifMatch }
}
