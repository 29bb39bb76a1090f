import { Command } from 'commander'
import { createCommand } from './create.ts'
import { listServers } from './list.ts'
import { deleteCommand, powerCommands } from './power.ts'
import { showCommand } from './show.ts'

export function serverCommand(): Command {
  const server = new Command('server').description('virtual machines')
  const commands = [listServers(), createCommand(), showCommand(), ...powerCommands(), deleteCommand()]
  for (const command of commands) server.addCommand(command)
  return server
}
