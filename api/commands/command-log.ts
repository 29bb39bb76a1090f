import { spawnSync } from 'node:child_process'
import { hostname, userInfo } from 'node:os'
import type { Command } from 'commander'

/** Names a person: several may share one root. */
export function operatorName(): string {
  return process.env.SUDO_USER || userInfo().username
}

/**
 * Writes to the system's log which command an operator ran, in the form of the service's security log. Each command is a
 * process of its own, which may run while the service does not, so it can't use the service's. Where there is no `logger`,
 * or nothing that listens to it, nothing is written: the audit still has what was changed.
 */
export function logCommand(command: Command, outcome: 'succeeded' | 'failed'): void {
  const line = {
    level: 30,
    time: Date.now(),
    hostname: hostname(),
    log: 'security',
    event: 'operator_command',
    command: nameOf(command),
    // A token can be revoked by its value.
    arguments: command.args.map((word) => word.replace(/berth_.*/s, 'berth_…').slice(0, 200)),
    operator: operatorName().slice(0, 64),
    outcome,
  }
  const how = ['--tag', 'berthd', '--priority', 'auth.notice', '--size', '4096', '--', JSON.stringify(line)]
  spawnSync('logger', how, { stdio: 'ignore', timeout: 2_000 })
}

/** Such as "berthd account suspend". */
function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
}
