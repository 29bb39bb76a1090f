import type { Snapshot } from '@berth/sdk'
import { Command } from 'commander'
import { confirmName } from './ask.ts'
import { deleteCommand } from './delete.ts'
import { find, idOf } from './find.ts'
import { type Labels, labelText, withLabelFilter, withLabels } from './labels.ts'
import { type Columns, printable } from './output.ts'
import { serverKind } from './server/kind.ts'
import { follow } from './server/power.ts'
import { copyKind, snapshotKind } from './server/snapshot-kind.ts'
import { action, listCommand, type Session } from './session.ts'
import { updateCommand } from './update.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from './wait.ts'

const columns = {
  id: ({ snapshot_id }) => snapshot_id,
  name: ({ name }) => name,
  status: ({ status }) => status,
  server: ({ server_id }) => server_id,
  zone: ({ zone_slug }) => zone_slug,
  size_gb: ({ size_gb }) => size_gb,
  kind: ({ kind }) => kind,
  bytes: ({ bytes }) => bytes,
  disk_gb: ({ disk_gb }) => disk_gb,
  consistency: ({ consistency }) => consistency,
  verified: ({ verified_at }) => verified_at,
  boot: ({ boot_result }) => boot_result,
  boot_checked: ({ boot_checked_at }) => boot_checked_at,
  off_site: ({ offsite_at }) => offsite_at,
  price_month: ({ price_month_rub }) => price_month_rub,
  labels: labelText,
  created: ({ created_at }) => created_at,
  updated: ({ updated_at }) => updated_at,
} satisfies Columns<Snapshot>

export function snapshotCommand(): Command {
  return new Command('snapshot')
    .description('manage snapshots: copies of the disks of servers')
    .addCommand(
      withLabelFilter(
        listCommand({
          description: 'list snapshots, newest first',
          columns,
          shown: ['id', 'name', 'status', 'server', 'size_gb', 'price_month', 'created'],
          items: async ({ berth }, { server, label }: { server?: string; label?: string }) =>
            berth.snapshots.listAll({
              label,
              ...(server && { server_id: await idOf(berth, serverKind, server) }),
            }),
        }).option('--server <server>', 'only snapshots of this server, by name or id'),
        'snapshots',
      ),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(
      updateCommand(
        snapshotKind,
        'change the name and labels of a snapshot',
        (berth, id, change) => berth.snapshots.update(id, change),
        showSnapshot,
      ),
    )
    .addCommand(
      deleteCommand(snapshotKind, 'delete a snapshot, or cancel one that is being made', (berth, id) =>
        berth.snapshots.delete(id),
      ),
    )
}

/** Shows a snapshot. */
export function showSnapshot({ show }: Session, snapshot: Snapshot): Promise<void> {
  return show(snapshot, {
    ID: columns.id,
    Name: columns.name,
    Status: columns.status,
    Server: columns.server,
    Zone: columns.zone,
    'Size in GB': columns.size_gb,
    'Disk in GB': columns.disk_gb,
    Consistency: columns.consistency,
    Verified: columns.verified,
    Boot: columns.boot,
    'Off site': columns.off_site,
    'Price per month': columns.price_month,
    Labels: labelText,
    Created: columns.created,
  })
}

function showCommand(): Command {
  return new Command('show')
    .description('show a snapshot')
    .argument('<snapshot>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        await showSnapshot(session, await berth.snapshots.get(await idOf(berth, snapshotKind, given)))
      }),
    )
}

function createCommand(): Command {
  const command = new Command('create')
    .description('copy the disk of a server, also while it runs')
    .argument('<server>', 'name or id')
    .option('--name <name>', 'name of the snapshot (default: the name of the server and the time)')
  type Wanted = { name?: string; label?: Labels } & WaitOptions
  return addWaitOptions(withLabels(command)).action(
    action(async (session, given: string, { name, label: labels, ...options }: Wanted) => {
      const { berth } = session
      const server_id = await idOf(berth, serverKind, given)
      const begun = await berth.snapshots.create({ server_id, name, labels })
      if (!wantsWait(session, options) || begun.operation_id === null) return showSnapshot(session, begun)
      await waitFor(session, await berth.operations.get(begun.operation_id))
      await showSnapshot(session, await berth.snapshots.get(begun.snapshot_id))
    }),
  )
}

/** `berth server restore` */
export function restoreCommand(): Command {
  return addWaitOptions(
    new Command('restore')
      .description(
        'return the disk of a server to one of its snapshots or backups; everything written since is lost',
      )
      .argument('<server>', 'name or id')
      .argument('<snapshot>', 'snapshot or backup, by name or id')
      .option('-y, --yes', 'skip the confirmation'),
  ).action(
    action(async (session, given: string, of: string, options: { yes?: boolean } & WaitOptions) => {
      const { berth, terminal } = session
      const { server_id, name } = await find(berth, serverKind, given)
      const copy = await find(berth, copyKind, of)
      await confirmName(terminal, {
        consequence: `This deletes everything on the disk of the server ${printable(name)} that was written since ${copy.created_at}.`,
        verb: 'restore the server',
        name,
        yes: options.yes,
      })
      const source = 'snapshot_id' in copy ? { snapshot_id: copy.snapshot_id } : { backup_id: copy.backup_id }
      await follow(session, name, await berth.servers.restore(server_id, source), options)
    }),
  )
}
