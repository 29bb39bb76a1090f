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
import { serverKind } from './kind.ts'

interface SshOptions {
  user?: string
  identity?: string
}

export function sshCommand(): Command {
  return new Command('ssh')
    .description('log in to a server or run a command on it over SSH; waits while it starts')
    .usage('[options] <server> [-- command...]')
    .argument('<server>', 'name or id')
    .argument('[command...]', 'command to run instead of a shell; put -- before one with flags')
    .option('--user <user>', "user to log in as (default: the template's user)")
    .option('-i, --identity <file>', 'private key file')
    .action(
      action(async (session, given: string, command: string[], options: SshOptions) => {
        const { terminal } = session
        const server = await readyServer(session, await idOf(session.berth, serverKind, given))
        throw new Ended(await openSsh(terminal, [...argumentsOf(terminal.env, server, options), ...command]))
      }),
    )
}

/** The server once SSH is ready. @throws Refusal if it is off and not being started */
async function readyServer(session: Session, server_id: string): Promise<ServerDetails> {
  const { berth } = session
  const server = await berth.servers.details(server_id)
  if (server.ssh.is_ready) return server
  if (server.current_operation) await waitFor(session, server)
  const waited = await berth.servers.details(server_id)
  if (waited.ssh.is_ready) return waited
  const advice = waited.allowed_actions.includes('start')
    ? `Start it with: berth server start ${server_id}`
    : `See its status with: berth server show ${server_id}`
  throw new Refusal(`Server ${waited.name} is ${waited.status}.`, advice, exitCodes.conflict)
}

/**
 * The arguments of ssh up to and including the host. The host, port, user and keys from the API are validated:
 * none of them can become an option, or another line of the configuration.
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
    // Ports are reused: a host key belongs to the server, not to its address.
    `HostKeyAlias=${server.server_id}`,
    'CheckHostIP=no',
    // On a single machine all servers are reached through localhost.
    'NoHostAuthenticationForLocalhost=no',
    'VerifyHostKeyDNS=no',
    'UpdateHostKeys=no',
    // An earlier connection to this port must not be reused.
    'ControlPath=none',
  ]
  return [
    ...pinned.flatMap((option) => ['-o', option]),
    ...(identity === undefined ? [] : ['-i', identity, '-o', 'IdentitiesOnly=yes']),
    ...['-p', String(port), '-l', user ?? username, '--', host],
  ]
}

/** Writes a known_hosts file with the server's host keys only. @returns its path */
function pinHostKeys(env: Terminal['env'], { server_id, name, ssh }: ServerDetails): string {
  check('id', server_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(server_id))
  if (ssh.host_key_fingerprints.length === 0)
    throw new Refusal(
      `Server ${name} has not reported any host keys, so ssh can't verify it.`,
      `Reboot it, so that they are read again: berth server reboot ${server_id}`,
      exitCodes.conflict,
    )
  const lines = ssh.host_key_fingerprints.map(({ type, public_key }) => {
    check('host key', `${type} ${public_key}`, /^[a-z0-9][a-z0-9@.-]*$/.test(type))
    check('host key', public_key, /^[A-Za-z0-9+/]+={0,2}$/.test(public_key))
    return `${server_id} ${type} ${public_key}\n`
  })
  // One file per server, so that concurrent logins do not overwrite each other's.
  const file = stateFile(env, path.join('known_hosts', server_id))
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, lines.join(''), { mode: 0o600 })
  } catch (error) {
    throw new Refusal(
      `The server's host keys can't be written to ${file} (${String(error)}).`,
      'Make that folder writable, or set XDG_CONFIG_HOME to another one.',
      exitCodes.error,
    )
  }
  return file
}

const isHost = (host: string) =>
  isIP(host) !== 0 ? !host.includes('%') : /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(host)

function check(what: string, value: string | number | null, isValid: boolean): void {
  if (isValid) return
  throw new Refusal(
    `The API returned an invalid ${what} for the server: ${JSON.stringify(value)}.`,
    'No connection was made. Contact the operator, and do not log in another way.',
    exitCodes.error,
  )
}

/** Quotes a value of ssh's configuration, which splits at spaces and expands %. */
const quoted = (file: string) => `"${file.replaceAll('%', '%%')}"`

/** Hands the terminal over to ssh. @returns its exit code */
function openSsh(terminal: Terminal, args: string[]): Promise<number> {
  // Ctrl-C is for ssh and the remote command.
  const ignore = () => {}
  terminal.on('SIGINT', ignore)
  return new Promise<number>((resolve, reject) => {
    const ssh = spawn('ssh', args, { env: terminal.env, stdio: 'inherit' })
    ssh.on('error', (error) => reject(refusalOf(error)))
    // A process killed by a signal has no exit code; 255 is ssh's own code for errors.
    ssh.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? exitCodes.interrupted : 255)))
  }).finally(() => terminal.off('SIGINT', ignore))
}

function refusalOf(error: NodeJS.ErrnoException): Refusal {
  const [message, advice] =
    error.code === 'ENOENT'
      ? ['ssh is not installed.', 'Install OpenSSH; on Debian: apt-get install openssh-client']
      : [`ssh can't be run: ${error.message}`, 'Fix this and try again.']
  return new Refusal(message, advice, exitCodes.error)
}
