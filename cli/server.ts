import type { Berth, Operation, Server, ServerFilter, Waitable } from '@berth/sdk'
import { Command, Option } from 'commander'
import { type OrderOptions, orderOf } from './order.ts'
import { print, printList } from './output.ts'
import { Refusal } from './refusal.ts'
import { sessionOf } from './session.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The server that people mean by a name or an id. @throws Refusal where it is none, or several */
async function findServer(berth: Berth, given: string): Promise<Server> {
  if (UUID.test(given)) return berth.servers.get(given)
  const { items, total } = await berth.servers.list({ name: given, limit: 1 })
  const [server] = items
  if (!server) throw new Refusal(`There is no server ${given}. berth server list shows those that are.`)
  if (total > 1) throw new Refusal(`${total} servers are named ${given}: say which by its id.`)
  return server
}

/** Waits for the end, and says on a terminal how far it is. */
async function waitFor(berth: Berth, what: Waitable): Promise<Operation> {
  if (!process.stderr.isTTY) return berth.operations.wait(what)
  const onProgress = ({ type, progress }: Operation) => process.stderr.write(`\r${type}: ${progress} %`)
  try {
    return await berth.operations.wait(what, { onProgress })
  } finally {
    process.stderr.write('\n')
  }
}

export function serverCommand(): Command {
  const server = new Command('server').description('virtual machines')
  for (const command of [listCommand(), createCommand(), showCommand()]) server.addCommand(command)
  server.addCommand(
    powerCommand('start', 'start a server that is stopped', (berth, id) => berth.servers.start(id)),
  )
  server.addCommand(
    powerCommand('stop', 'shut a server down', (berth, id, { force }) =>
      berth.servers.stop(id, { force }),
    ).option('--force', 'pull the plug instead of asking the guest'),
  )
  server.addCommand(
    powerCommand('reboot', 'shut a server down and start it', (berth, id, { force }) =>
      berth.servers.reboot(id, { force }),
    ).option('--force', 'pull the plug instead of asking the guest'),
  )
  server.addCommand(
    powerCommand('delete', 'take a server and its disk', (berth, id) => berth.servers.delete(id)),
  )
  return server
}

function listCommand(): Command {
  return new Command('list')
    .description('all servers, the newest first')
    .addOption(new Option('--status <status>', 'only those of this status'))
    .option('--label <label>', 'only those with this label: name or name=value')
    .action(async (filter: Pick<ServerFilter, 'status' | 'label'>, command: Command) => {
      const { berth, format } = sessionOf(command)
      const items: Server[] = []
      for await (const item of berth.servers.listAll({ status: filter.status, label: filter.label }))
        items.push(item)
      printList(format, items, {
        ID: ({ server_id }) => server_id,
        NAME: ({ name }) => name,
        STATUS: ({ status }) => status,
        ZONE: ({ zone_slug }) => zone_slug,
        CPU: ({ cpu }) => cpu,
        'RAM MB': ({ ram_mb }) => ram_mb,
        'DISK GB': ({ disk_gb }) => disk_gb,
        MONTH: ({ price_month_rub }) => price_month_rub,
      })
    })
}

function createCommand(): Command {
  return new Command('create')
    .description('order a server, and wait until it answers')
    .argument('[name]', 'host name; one is made up without it')
    .requiredOption('--template <slug>', 'its operating system')
    .option('--preset <slug>', 'its size; or give all of --cpu, --ram-mb and --disk-gb')
    .option('--cpu <cores>', 'cores', Number)
    .option('--ram-mb <mb>', 'memory', Number)
    .option('--disk-gb <gb>', 'disk', Number)
    .option('--zone <zone>', 'where; the first zone without it')
    .option('--cpu-type <type>', 'amd or intel; what the zone has without it')
    .option('--ssh-key <name...>', 'keys that may log in, by name; a server without any has a password')
    .option('--no-wait', 'do not wait until it answers')
    .action(async (name: string | undefined, options: OrderOptions & { wait: boolean }, command: Command) => {
      const { berth, format } = sessionOf(command)
      const ordered = await berth.servers.create(await orderOf(berth, name, options))
      if (options.wait) await waitFor(berth, ordered)
      await show(berth, format, ordered.server_id)
    })
}

function showCommand(): Command {
  return new Command('show')
    .description('a server, and how to log in to it')
    .argument('<server>', 'name or id')
    .action(async (given: string, _options: object, command: Command) => {
      const { berth, format } = sessionOf(command)
      await show(berth, format, (await findServer(berth, given)).server_id)
    })
}

async function show(berth: Berth, format: 'table' | 'json', server_id: string): Promise<void> {
  print(format, await berth.servers.details(server_id), {
    Id: (server) => server.server_id,
    Name: ({ name }) => name,
    Status: ({ status }) => status,
    Size: ({ cpu, ram_mb, disk_gb }) => `${cpu} CPU, ${ram_mb} MB of memory, ${disk_gb} GB of disk`,
    System: ({ template }) => template?.title ?? null,
    'Price a month': ({ price_month_rub }) => price_month_rub,
    'Log in': ({ ssh }) => ssh.command,
    Password: ({ ssh }) => ssh.password,
  })
}

/** A command that carries something out on one server. */
function powerCommand(
  verb: string,
  description: string,
  act: (berth: Berth, server_id: string, options: { force?: boolean }) => Promise<Operation>,
): Command {
  return new Command(verb)
    .description(description)
    .argument('<server>', 'name or id')
    .option('--no-wait', 'do not wait until it is done')
    .action(async (given: string, options: { force?: boolean; wait: boolean }, command: Command) => {
      const { berth, format } = sessionOf(command)
      const { server_id, name } = await findServer(berth, given)
      const asked = await act(berth, server_id, options)
      const operation = options.wait ? await waitFor(berth, asked) : asked
      print(format, operation, {
        Server: () => name,
        Operation: ({ type }) => type,
        Status: ({ status }) => status,
      })
    })
}
