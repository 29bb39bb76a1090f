import type { Server } from '@berth/sdk'
import { Command } from 'commander'
import { action, type Session } from '../session.ts'
import { isInteractive } from '../terminal.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from '../wait.ts'
import { addOrderOptions, hasOrderOptions, type OrderOptions, orderOf } from './order.ts'
import { showServer } from './show.ts'

export function createCommand(): Command {
  const command = new Command('create')
    .description('create a server and wait until it is ready; without options, prompts for what to create')
    .argument('[name]', 'host name (default: a generated one)')
  return addWaitOptions(addOrderOptions(command)).action(
    action(async (session, name: string | undefined, { wait, ...options }: OrderOptions & WaitOptions) => {
      const { berth, terminal } = session
      const order =
        isInteractive(terminal) && !hasOrderOptions(options)
          ? // Loaded on demand: most servers are ordered with options.
            await (await import('./questions.ts')).askForOrder(session, name)
          : await orderOf(session, name, options)
      const ordered = await berth.servers.create(order)
      if (!wantsWait(session, { wait })) return showOrdered(session, ordered)
      await waitFor(session, ordered)
      await showServer(session, ordered.server_id)
    }),
  )
}

/** Shows a server that is being created, with its operation. */
async function showOrdered(session: Session, ordered: Server): Promise<void> {
  await session.show(ordered, {
    ID: ({ server_id }) => server_id,
    Name: ({ name }) => name,
    Status: ({ status }) => status,
    Operation: ({ current_operation }) => current_operation?.operation_id,
  })
}
