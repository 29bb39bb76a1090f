import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import path from 'node:path'
import type { ServerDetails } from '@berth/sdk'
import { Command } from 'commander'
import { stateFile } from '../contexts.ts'
import { Ended, exitCodes, Refusal } from '../errors.ts'
import { idOf } from '../find.ts'
import { action, type Session } from '../session.ts'
import type { Terminal } from '../terminal.ts'
import { waitFor } from '../wait.ts'

interface SshOptions {
  user?: string
  identity?: string
}

export function sshCommand(): Command {
  return new Command('ssh')
    .description('log in to a server, or run a command on it, with OpenSSH; waits while it starts')
    .usage('[options] <server> [-- command...]')
    .argument('<server>', 'name or id')
    .argument('[command...]', 'what to run there in place of a shell; after -- with flags of its own')
    .option('--user <user>', "who logs in; the system's own user without it")
    .option('-i, --identity <file>', 'private key to prove it with')
    .action(
      action(async (session, given: string, command: string[], options: SshOptions) => {
        const { terminal } = session
        const server = await readyServer(session, await idOf(session.berth, 'server', given))
        throw new Ended(await openSsh(terminal, [...argumentsOf(terminal.env, server, options), ...command]))
      }),
    )
}

/** The server when it answers. @throws Refusal where it is off and nothing is on the way to start it */
async function readyServer(session: Session, server_id: string): Promise<ServerDetails> {
  const { berth } = session
  const server = await berth.servers.details(server_id)
  if (server.ssh.is_ready) return server
  if (server.current_operation) await waitFor(session, server)
  const waited = await berth.servers.details(server_id)
  if (waited.ssh.is_ready) return waited
  const advice = waited.allowed_actions.includes('start')
    ? `Start it with: berth server start ${server_id}`
    : `See how it stands with: berth server show ${server_id}`
  throw new Refusal(`The server ${waited.name} is ${waited.status}.`, advice, exitCodes.conflict)
}

/**
 * What ssh is called with, up to and with the host. What the API says is believed to be a host, a port, a name and
 * keys only where it looks like one: nothing of it can become an option, or a line of another kind.
 */
function argumentsOf(env: Terminal['env'], server: ServerDetails, { user, identity }: SshOptions): string[] {
  const { host, port, username } = server.ssh
  check('host', host, isHost(host))
  check('port', port, Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536)
  check('user', username, /^[a-z0-9_][a-z0-9_.-]{0,31}$/i.test(username))
  const pinned = [
    `UserKnownHostsFile=${quoted(pinHostKeys(env, server))}`,
    'GlobalKnownHostsFile=/dev/null',
    'StrictHostKeyChecking=yes',
    // Ports are used again: a key belongs to the server, not to where it is reached.
    `HostKeyAlias=${server.server_id}`,
    'CheckHostIP=no',
    // On one machine all servers are reached there.
    'NoHostAuthenticationForLocalhost=no',
    'VerifyHostKeyDNS=no',
    'UpdateHostKeys=no',
    // Nor is a connection used again that was made to this port before.
    'ControlPath=none',
  ]
  return [
    ...pinned.flatMap((option) => ['-o', option]),
    ...(identity === undefined ? [] : ['-i', identity, '-o', 'IdentitiesOnly=yes']),
    ...['-p', String(port), '-l', user ?? username, '--', host],
  ]
}

/** Writes the keys by which ssh knows the server, and no others. @returns where */
function pinHostKeys(env: Terminal['env'], { server_id, name, ssh }: ServerDetails): string {
  check('id', server_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(server_id))
  if (ssh.host_key_fingerprints.length === 0)
    throw new Refusal(
      `The server ${name} has told no host key: ssh could not know it from another.`,
      `Reboot it, so that it is asked again: berth server reboot ${server_id}`,
      exitCodes.conflict,
    )
  const lines = ssh.host_key_fingerprints.map(({ type, public_key }) => {
    check('host key', `${type} ${public_key}`, /^[a-z0-9][a-z0-9@.-]*$/.test(type))
    check('host key', public_key, /^[A-Za-z0-9+/]+={0,2}$/.test(public_key))
    return `${server_id} ${type} ${public_key}\n`
  })
  // A file for each server: two that are logged in to at once do not write over each other's.
  const file = stateFile(env, path.join('known_hosts', server_id))
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, lines.join(''), { mode: 0o600 })
  } catch (error) {
    throw new Refusal(
      `The server's host keys can't be written to ${file} (${String(error)}).`,
      'Make that folder writable, or name another with XDG_CONFIG_HOME.',
      exitCodes.error,
    )
  }
  return file
}

const isHost = (host: string) =>
  isIP(host) !== 0 ? !host.includes('%') : /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(host)

function check(what: string, value: string | number | null, isOne: boolean): void {
  if (isOne) return
  throw new Refusal(
    `The API says that the server's ${what} is ${JSON.stringify(value)}, which is none.`,
    'Nothing was connected to. Ask the operator, and do not log in by other ways.',
    exitCodes.error,
  )
}

/** For a value of ssh's configuration, which takes spaces for ends and % for names of its own. */
const quoted = (file: string) => `"${file.replaceAll('%', '%%')}"`

/** Hands the terminal over to ssh. @returns what it ends with */
function openSsh(terminal: Terminal, args: string[]): Promise<number> {
  // Ctrl-C is for ssh, and for what runs over there.
  const ignore = () => {}
  terminal.on('SIGINT', ignore)
  return new Promise<number>((resolve, reject) => {
    const ssh = spawn('ssh', args, { env: terminal.env, stdio: 'inherit' })
    ssh.on('error', (error) => reject(refusalOf(error)))
    // What a signal ends has no code; 255 is how ssh itself says that something went wrong.
    ssh.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? exitCodes.interrupted : 255)))
  }).finally(() => terminal.off('SIGINT', ignore))
}

function refusalOf(error: NodeJS.ErrnoException): Refusal {
  const [message, advice] =
    error.code === 'ENOENT'
      ? ['There is no ssh on this machine.', 'Install OpenSSH; on Debian: apt-get install openssh-client']
      : [`ssh can't be run: ${error.message}`, 'Mend that, and try again.']
  return new Refusal(message, advice, exitCodes.error)
}
