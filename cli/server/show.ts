import { Command } from 'commander'
import { idOf } from '../find.ts'
import { action, type Session } from '../session.ts'
import { reasonOf, rub, sizeOf } from '../units.ts'
import { serverKind } from './kind.ts'

export function showCommand(): Command {
  return new Command('show')
    .description('show a server and how to log in to it')
    .argument('<server>', 'name or id')
    .action(
      action(async (session, given: string) => {
        await showServer(session, await idOf(session.berth, serverKind, given))
      }),
    )
}

/** Shows a server and how to log in to it. */
export async function showServer({ berth, show }: Session, server_id: string): Promise<void> {
  const server = await berth.servers.details(server_id)
  await show(server, {
    ID: () => server_id,
    Name: ({ name }) => name,
    Status: ({ status }) => status,
    ...(server.status_reason === null ? {} : { Reason: reasonOf }),
    ...(server.rescue ? { Rescue: () => true } : {}),
    ...(server.iso_id ? { ISO: ({ iso_id }) => iso_id } : {}),
    Size: sizeOf,
    OS: ({ template }) => template?.title ?? null,
    Backups: ({ backup_window }) => (backup_window === null ? null : `daily, ${backup_window}:00 UTC`),
    'Price per month': ({ price_month_rub }) => rub(price_month_rub),
    'SSH command': ({ ssh }) => ssh.command,
    Password: ({ ssh }) => ssh.password,
  })
}
