import { Command } from 'commander'
import { createCommand } from './create.ts'
import { listServers } from './list.ts'
import { metricsCommand } from './metrics.ts'
import { deleteCommand, powerCommands } from './power.ts'
import { showCommand } from './show.ts'
import { statsCommand } from './stats.ts'

export function serverCommand(): Command {
  const server = new Command('server').description('virtual machines')
  const commands = [listServers(), createCommand(), showCommand(), ...powerCommands(), deleteCommand()]
  commands.push(statsCommand(), metricsCommand())
  for (const command of commands) server.addCommand(command)
  return server
}
