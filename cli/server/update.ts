import type { ServerUpdate } from '@berth/sdk'
import { Command } from 'commander'
import { nothingToChange } from '../errors.ts'
import { addLabel, type Labels, repeated } from '../flags.ts'
import { find, idOf } from '../names.ts'
import { action } from '../session.ts'
import { showServer } from './show.ts'

interface UpdateOptions {
  name?: string
  description?: string
  label?: Labels
  removeLabel?: string[]
  project?: string
  deleteProtection?: boolean
}

export function updateCommand(): Command {
  return new Command('update')
    .description('change the name, labels and the like of a server; its size with resize')
    .argument('<server>', 'name or id')
    .option('--name <name>', 'host name')
    .option('--description <text>', 'what it is for; none where it is empty')
    .option('--label <name=value>', 'set a label, and leave the others; again for each', addLabel)
    .option('--remove-label <name>', 'take a label off; again for each', repeated)
    .option('--project <project>', 'move it there, by name or id')
    .option('--delete-protection', 'refuse to delete it until this is taken off')
    .option('--no-delete-protection', 'let it be deleted')
    .action(
      action(async (session, given: string, options: UpdateOptions) => {
        const { berth } = session
        if (Object.keys(options).length === 0) throw nothingToChange('server')
        const { server_id, labels } = await find(berth, 'server', given)
        const { name, description, project, deleteProtection } = options
        const changes: ServerUpdate = {
          name,
          description: description === '' ? null : description,
          labels: labelsOf(labels, options),
          project_id: project === undefined ? undefined : await idOf(berth, 'project', project),
          delete_protection: deleteProtection,
        }
        await berth.servers.update(server_id, changes)
        await showServer(session, server_id)
      }),
    )
}

/** The API takes all labels at once. @returns undefined where they stay */
function labelsOf(before: Labels, { label, removeLabel }: UpdateOptions): Labels | undefined {
  if (!label && !removeLabel) return undefined
  const kept = Object.entries(before).filter(([name]) => !removeLabel?.includes(name))
  return Object.fromEntries([...kept, ...Object.entries(label ?? {})])
}
