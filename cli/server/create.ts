import type { Server } from '@berth/sdk'
import { Command } from 'commander'
import { action, type Session } from '../session.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from '../wait.ts'
import { addOrderOptions, type OrderOptions, orderOf } from './order.ts'
import { showServer } from './show.ts'

export function createCommand(): Command {
  const command = new Command('create')
    .description('order a server, and wait until it answers')
    .argument('[name]', 'host name; one is made up without it')
  return addWaitOptions(addOrderOptions(command)).action(
    action(async (session, name: string | undefined, { wait, ...options }: OrderOptions & WaitOptions) => {
      const { berth } = session
      const ordered = await berth.servers.create(await orderOf(session, name, options))
      if (!wantsWait(session, { wait })) return showOrdered(session, ordered)
      await waitFor(session, ordered)
      await showServer(session, ordered.server_id)
    }),
  )
}

/** A server that is being made: for people its operation is what there is to see of it. */
async function showOrdered(session: Session, ordered: Server): Promise<void> {
  await session.show(ordered, {
    Id: ({ server_id }) => server_id,
    Name: ({ name }) => name,
    Status: ({ status }) => status,
    Operation: ({ current_operation }) => current_operation?.operation_id,
  })
}
