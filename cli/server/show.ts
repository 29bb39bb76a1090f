import { Command } from 'commander'
import { idOf } from '../find.ts'
import { action, type Session } from '../session.ts'
import { sizeOf } from '../units.ts'

export function showCommand(): Command {
  return new Command('show')
    .description('a server, and how to log in to it')
    .argument('<server>', 'name or id')
    .action(
      action(async (session, given: string) => {
        await showServer(session, await idOf(session.berth, 'server', given))
      }),
    )
}

/** A server with how to log in to it. */
export async function showServer({ berth, show }: Session, server_id: string): Promise<void> {
  const server = await berth.servers.details(server_id)
  await show(server, {
    Id: () => server_id,
    Name: ({ name }) => name,
    Status: ({ status }) => status,
    ...(server.status_reason === null ? {} : { Reason: ({ status_reason }) => status_reason }),
    Size: sizeOf,
    System: ({ template }) => template?.title ?? null,
    'Price a month': ({ price_month_rub }) => price_month_rub,
    'Log in': ({ ssh }) => ssh.command,
    Password: ({ ssh }) => ssh.password,
  })
}
