import { isBerthError, type Server, type ServerCreate } from '@berth/sdk'
import { Command } from 'commander'
import { allOf } from '../all.ts'
import { ask } from '../ask.ts'
import { exitCodes, Refusal } from '../errors.ts'
import { printable } from '../output.ts'
import { action, type Session } from '../session.ts'
import { isInteractive } from '../terminal.ts'
import { sizeOf } from '../units.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from '../wait.ts'
import { addOrderOptions, hasOrderOptions, type OrderOptions, orderOf } from './order.ts'
import { showServer } from './show.ts'

export function createCommand(): Command {
  const command = new Command('create')
    .description('create a server and wait until it is ready; without options, prompts for the settings')
    .argument('[name]', 'host name (default: a generated one)')
  return addWaitOptions(addOrderOptions(command)).action(
    action(async (session, name: string | undefined, { wait, ...options }: OrderOptions & WaitOptions) => {
      const { terminal } = session
      await warnOfNamesake(session, name)
      const order =
        isInteractive(terminal) && !hasOrderOptions(options)
          ? // Loaded on demand: most servers are ordered with options.
            await (await import('./questions.ts')).askForOrder(session, name)
          : await withDefaultKeys(session, options, await orderOf(session, name, options))
      const ordered = await created(session, order)
      if (!wantsWait(session, { wait })) return showOrdered(session, ordered, order)
      await waitFor(session, ordered)
      await showServer(session, ordered.server_id)
    }),
  )
}

/**
 * Names may be used twice, and scripts may rely on it; a person may have pressed Enter twice.
 * @throws Refusal if that is declined
 */
async function warnOfNamesake({ berth, terminal, note }: Session, name: string | undefined): Promise<void> {
  if (name === undefined || (await berth.servers.list({ name, limit: 1 })).total === 0) return
  if (!isInteractive(terminal))
    return note(`You have another server named ${name}: use the ids of both in commands.`)
  const message = `You have a server named ${printable(name)}. Create another one?`
  const isConfirmed = await ask(terminal, 'Choose another name.', ({ confirm }, at) =>
    confirm({ message, default: false }, at),
  )
  if (!isConfirmed) throw new Refusal('Canceled.', 'Nothing was created.', exitCodes.error)
}

/** Adds the account's only SSH key to the order, or the chosen ones of several, and reports the choice. */
async function withDefaultKeys(
  session: Session,
  { sshKey }: OrderOptions,
  order: ServerCreate,
): Promise<ServerCreate> {
  const { berth, terminal, note } = session
  if (sshKey !== undefined) return order
  const keys = await allOf(berth.sshKeys.listAll()).catch((error: unknown) => {
    // A token for servers alone can't list keys.
    if (isBerthError(error, 'insufficient_scope')) return []
    throw error
  })
  const [key] = keys
  if (keys.length > 1 && isInteractive(terminal)) {
    const { askWhichKeys } = await import('./questions.ts')
    return { ...order, ssh_key_ids: await askWhichKeys(session, keys) }
  }
  if (key && keys.length === 1) {
    note(`Using your SSH key ${key.name}.`)
    return { ...order, ssh_key_ids: [key.ssh_key_id] }
  }
  note(
    key
      ? `You have ${keys.length} SSH keys: choose with --ssh-key. Without this option, the server gets a generated password.`
      : 'You have no SSH key: the server gets a generated password. Add a key with: berth ssh-key add',
  )
  return order
}

/** @throws Refusal if there is not enough capacity, with the largest server that fits */
async function created({ berth }: Session, order: ServerCreate): Promise<Server> {
  try {
    return await berth.servers.create(order)
  } catch (error) {
    if (!isBerthError(error, 'capacity_unavailable')) throw error
    const { zone_slug, cpu_type } = order
    const rows = await berth.capacity.list({ zone_slug })
    const room = rows.find((row) => row.cpu_type === cpu_type)?.max_server
    throw new Refusal(
      `Not enough capacity for this server in ${zone_slug}. (${error.code})`,
      room && room.cpu > 0
        ? `The largest that fits: ${sizeOf(room)}. See all zones with: berth capacity`
        : 'See what fits in other zones with: berth capacity',
      exitCodes.conflict,
    )
  }
}

/** Shows a server that is being created, with its operation. */
async function showOrdered(session: Session, ordered: Server, { ssh_key_ids }: ServerCreate): Promise<void> {
  if (!ssh_key_ids?.length) session.note(`See its password with: berth server show ${ordered.server_id}`)
  await session.show(ordered, {
    ID: ({ server_id }) => server_id,
    Name: ({ name }) => name,
    Status: ({ status }) => status,
    Operation: ({ current_operation }) => current_operation?.operation_id,
  })
}
