import type { ServerConsole } from '@berth/sdk'
import { Command } from 'commander'
import { exitCodes, Refusal } from '../errors.ts'
import { idOf } from '../find.ts'
import { action, type Session } from '../session.ts'
import { type Terminal, untilInterrupt } from '../terminal.ts'
import { GuestModes } from './guest-modes.ts'
import { serverKind } from './kind.ts'

/** Ctrl-], as in telnet and virsh. */
const LEAVE = 0x1d

export function consoleCommand(): Command {
  return new Command('console')
    .description("connect to a server's serial console, which requires no network; leave with Ctrl-]")
    .argument('<server>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth, terminal, note } = session
        const server_id = await idOf(berth, serverKind, given)
        // Loaded on demand, and because Node 20 has none.
        const { WebSocket } = await import('ws')
        const [console, hint] = await Promise.all([
          berth.servers.console(server_id, { WebSocket }),
          loginHint(session, server_id),
        ])
        if (hint !== null) note(hint)
        note(`Connected to the serial console of ${given}. Leave with Ctrl-].`)
        await show(terminal, console)
        report(session, console, server_id)
      }),
    )
}

/** For a server that was created with keys, and so without a password; null for others, or if it can't be read. */
async function loginHint({ berth }: Session, serverId: string): Promise<string | null> {
  // The server's details are not read: they contain the password, and reading them is audited.
  const server = await berth.servers.get(serverId).catch(() => null)
  if (server === null || server.ssh_key_ids.length === 0) return null
  const { name } = server
  return `${name} was created with SSH keys, without a password. To log in here, set one with: berth server reset-password ${name}`
}

/** Runs the console until it ends or the user leaves, and then restores the terminal. */
async function show(terminal: Terminal, console: ServerConsole): Promise<void> {
  const { stdin, stdout } = terminal
  const modes = new GuestModes()
  const type = (bytes: Buffer) => {
    const at = bytes.indexOf(LEAVE)
    console.write(at === -1 ? bytes : bytes.subarray(0, at))
    if (at !== -1) console.close()
  }
  stdin.setRawMode?.(true)
  stdin.on('data', type)
  try {
    await untilInterrupt(terminal, async (signal) => {
      signal.addEventListener('abort', () => console.close())
      for await (const bytes of console) {
        modes.read(bytes)
        stdout.write(bytes)
      }
    })
  } finally {
    stdin.off('data', type)
    stdin.pause()
    stdin.setRawMode?.(false)
    if (stdout.isTTY) stdout.write(`${modes.undoing}\r\n`)
  }
}

/** @throws Refusal if the console did not end at the user's request */
function report({ note }: Session, { ending }: ServerConsole, serverId: string): void {
  if (ending === 'server_off') note('The server is off.')
  if (ending === null || ending === 'server_off') return
  const texts: Record<string, string> = {
    access_ended: 'The token is no longer valid, or the account was suspended.',
    idle: 'Nothing was typed for an hour.',
    place_given_up: 'All consoles are taken, and your account had most. Close others, then reconnect.',
    service_stopping: 'The service is restarting.',
  }
  throw new Refusal(
    `Disconnected from the console: ${texts[ending] ?? 'the connection was lost.'}`,
    `Connect again with: berth server console ${serverId}`,
    exitCodes.error,
  )
}
