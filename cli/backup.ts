import type { Backup } from '@berth/sdk'
import { Command } from 'commander'
import { deleteCommand } from './delete.ts'
import { idOf } from './find.ts'
import type { Columns } from './output.ts'
import { serverKind } from './server/kind.ts'
import { backupKind } from './server/snapshot-kind.ts'
import { action, listCommand } from './session.ts'
import { showSnapshot } from './snapshot.ts'

const columns = {
  id: ({ backup_id }) => backup_id,
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
  expires: ({ expires_at }) => expires_at,
  created: ({ created_at }) => created_at,
  updated: ({ updated_at }) => updated_at,
} satisfies Columns<Backup>

export function backupCommand(): Command {
  return new Command('backup')
    .description('manage backups: daily copies of the disks of servers')
    .addCommand(
      listCommand({
        description: 'list backups, newest first, also those of deleted servers',
        columns,
        shown: ['id', 'name', 'status', 'size_gb', 'verified', 'expires', 'created'],
        items: async ({ berth }, { server }: { server?: string }) =>
          berth.backups.listAll(
            server === undefined ? {} : { server_id: await idOf(berth, serverKind, server) },
          ),
      }).option('--server <server>', 'only backups of this server, by name or id'),
    )
    .addCommand(showCommand())
    .addCommand(keepCommand())
    .addCommand(deleteCommand(backupKind, 'delete a backup', (berth, id) => berth.backups.delete(id)))
}

function showCommand(): Command {
  return new Command('show')
    .description('show a backup')
    .argument('<backup>', 'name or id')
    .action(
      action(async ({ berth, show }, given: string) => {
        await show(await berth.backups.get(await idOf(berth, backupKind, given)), {
          ID: columns.id,
          Name: columns.name,
          Status: columns.status,
          Server: columns.server,
          Zone: columns.zone,
          'Size in GB': columns.size_gb,
          Kind: columns.kind,
          'Disk in GB': columns.disk_gb,
          Consistency: columns.consistency,
          Verified: columns.verified,
          Boot: columns.boot,
          'Off site': columns.off_site,
          Expires: columns.expires,
          Created: columns.created,
        })
      }),
    )
}

function keepCommand(): Command {
  return new Command('keep')
    .description('turn a backup into a snapshot, which stays and is billed')
    .argument('<backup>', 'name or id')
    .option('--name <name>', 'name of the snapshot (default: the name of the backup)')
    .action(
      action(async (session, given: string, { name }: { name?: string }) => {
        const { berth } = session
        await showSnapshot(session, await berth.backups.keep(await idOf(berth, backupKind, given), { name }))
      }),
    )
}
