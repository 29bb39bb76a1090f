import { Command } from 'commander'
import { confirmName } from '../ask.ts'
import { find, idOf } from '../find.ts'
import { repeated } from '../flags.ts'
import { printable } from '../output.ts'
import { action } from '../session.ts'
import { sshKeyKind } from '../ssh-key.ts'
import { addWaitOptions, type WaitOptions } from '../wait.ts'
import { serverKind } from './kind.ts'
import { requireSource, type SourceOptions, sourceOf, userDataOf } from './order.ts'
import { follow } from './power.ts'

interface RebuildOptions extends WaitOptions, SourceOptions {
  /** False with --no-ssh-key. */
  sshKey?: string[] | false
  userDataFile?: string
  yes?: boolean
}

export function rebuildCommand(): Command {
  return addWaitOptions(
    new Command('rebuild')
      .description('replace the disk of a server by a new operating system; all data on it is lost')
      .argument('<server>', 'name or id')
      .option('--template <template>', 'operating system template')
      .option('--snapshot <snapshot>', 'snapshot or backup to take the system from instead, by name or id')
      .option('--image <image>', 'image of your own to take the system from instead, by name or id')
      .option(
        '--ssh-key <ssh-key>',
        'SSH key to log in with, by name or id (repeatable; default: the keys that it has)',
        (key: string, before?: string[] | false) => repeated(key, before || []),
      )
      .option('--no-ssh-key', 'log in with a generated password')
      .option(
        '--user-data-file <file>',
        'cloud-init user data for the first boot; - reads stdin (default: the user data of its creation)',
      )
      .option('-y, --yes', 'skip the confirmation'),
  ).action(
    action(
      async (
        session,
        given: string,
        { template, snapshot, image, sshKey, userDataFile, ...options }: RebuildOptions,
      ) => {
        const { berth, terminal } = session
        requireSource({ template, snapshot, image })
        const { server_id, name } = await find(berth, serverKind, given)
        const body = {
          ...(await sourceOf(berth, { template, snapshot, image })),
          ssh_key_ids:
            sshKey === undefined
              ? undefined
              : await Promise.all((sshKey || []).map((key) => idOf(berth, sshKeyKind, key))),
          user_data: await userDataOf(terminal, userDataFile),
        }
        await confirmName(terminal, {
          consequence: `This deletes all data on the disk of the server ${printable(name)}.`,
          verb: 'rebuild the server',
          name,
          yes: options.yes,
        })
        await follow(session, name, await berth.servers.rebuild(server_id, body), options)
      },
    ),
  )
}
