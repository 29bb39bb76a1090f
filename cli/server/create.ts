import type { Server } from '@berth/sdk'
import { Command } from 'commander'
import { action, type Session } from '../session.ts'
import { isInteractive } from '../terminal.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from '../wait.ts'
import { addOrderOptions, type OrderOptions, orderOf, saysOrder } from './order.ts'
import { showServer } from './show.ts'

export function createCommand(): Command {
  const command = new Command('create')
    .description(
      'order a server, and wait until it answers; without options it asks, where somebody is there',
    )
    .argument('[name]', 'host name; one is made up without it')
  return addWaitOptions(addOrderOptions(command)).action(
    action(async (session, name: string | undefined, { wait, ...options }: OrderOptions & WaitOptions) => {
      const { berth, terminal } = session
      const order =
        isInteractive(terminal) && !saysOrder(options)
          ? // Loaded only here: most orders are said with options.
            await (await import('./questions.ts')).askForOrder(session, name)
          : await orderOf(session, name, options)
      const ordered = await berth.servers.create(order)
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
