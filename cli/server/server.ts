import { Command } from 'commander'
import { restoreCommand } from '../snapshot.ts'
import { consoleCommand } from './console.ts'
import { createCommand } from './create.ts'
import { detailsCommand } from './details.ts'
import { ejectIsoCommand, insertIsoCommand } from './iso.ts'
import { listServers } from './list.ts'
import { metricsCommand } from './metrics.ts'
import { listPorts, publishCommand, unpublishCommand } from './ports.ts'
import { deleteCommand, powerCommands, waitCommand } from './power.ts'
import { rebuildCommand } from './rebuild.ts'
import { rescueCommands } from './rescue.ts'
import { resetPasswordCommand } from './reset-password.ts'
import { resizeCommand } from './resize.ts'
import { screenCommand } from './screen.ts'
import { showCommand } from './show.ts'
import { sshCommand } from './ssh.ts'
import { statsCommand } from './stats.ts'
import { updateCommand } from './update.ts'

export function serverCommand(): Command {
  const server = new Command('server').description('manage servers')
  const commands = [
    listServers(),
    createCommand(),
    showCommand(),
    detailsCommand(),
    sshCommand(),
    consoleCommand(),
    screenCommand(),
    waitCommand(),
    ...powerCommands(),
    publishCommand(),
    unpublishCommand(),
    listPorts(),
    statsCommand(),
    metricsCommand(),
    updateCommand(),
    resizeCommand(),
    rebuildCommand(),
    resetPasswordCommand(),
    ...rescueCommands(),
    insertIsoCommand(),
    ejectIsoCommand(),
    restoreCommand(),
    deleteCommand(),
  ]
  for (const command of commands) server.addCommand(command)
  return server
}
