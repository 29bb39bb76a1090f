import { spawnSync } from 'node:child_process'
import { hostname, userInfo } from 'node:os'
import type { Command } from 'commander'

/** Returns the operator's login name, since several people may share one root. */
export function operatorName(): string {
  return process.env.SUDO_USER || userInfo().username
}

/**
 * Writes to the system's log which command an operator ran, in the form of the service's security log. A
 * command cannot use the log of the service, which may not be running. If `logger` or its daemon is missing,
 * nothing is written: the audit log still has the changes.
 */
export function logCommand(command: Command, outcome: 'succeeded' | 'failed'): void {
  const line = {
    level: 30,
    time: Date.now(),
    hostname: hostname(),
    log: 'security',
    event: 'operator_command',
    command: nameOf(command),
    // Tokens are left out: a token can be revoked by its value.
    arguments: command.args.map((word) => word.replace(/(berth|berthop)_.*/s, '$1_…').slice(0, 200)),
    operator: operatorName().slice(0, 64),
    outcome,
  }
  const how = ['--tag', 'berthd', '--priority', 'auth.notice', '--size', '4096', '--', JSON.stringify(line)]
  spawnSync('logger', how, { stdio: 'ignore', timeout: 2_000 })
}

/** Returns a name such as "berthd account suspend". */
function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
}
