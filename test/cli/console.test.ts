import { spawnSync } from 'node:child_process'
import { test as always, expect } from 'vitest'
import { GuestModes } from '../../cli/server/guest-modes.ts'
import { screenOfCommand } from '../harness/terminal.ts'
import { expectSession, loggedIn } from './harness/berth.ts'
import { screenOf } from './harness/screen.ts'

// npm test reports that these tests are skipped.
const test = always.skipIf(spawnSync('script', ['--version']).error !== undefined)
const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGjEcL5KXiTPhbRNw53jDJtdYSFgSH0yGPqPgbWVJzGJ me@laptop'
const [ctrlC, leave] = ['\x03', '\x1d']

test('the console is a terminal of the guest, Ctrl-C included, until Ctrl-]', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  const screen = screenOf('server console web-1', t.env)
  await screen.shows('Connected to the serial console of web-1. Leave with Ctrl-].')
  await screen.answer('web-1:~#', 'echo hello\r')
  await screen.answer(/\nhello\n/, `half${ctrlC}`)
  await screen.answer('half^C', 'echo on\r')
  await screen.answer(/\non\n/, `echo${leave}echo beyond\r`)
  expect(await screen.ended()).toBe(0)
  expect(screen.text()).not.toContain('password')
  expect(screen.text()).not.toContain('beyond')
})

test('the terminal is restored when the console ends, and the reason is printed', async () => {
  const t = await loggedIn()
  const { server_id } = await t.make('web-1')
  const berth = `'${process.execPath}' '${new URL('../../cli/main.ts', import.meta.url).pathname}'`
  const screen = screenOfCommand(
    `before=$(stty -g); ${berth} server console web-1; echo "ended with $?"; [ "$before" = "$(stty -g)" ] && echo same`,
    t.env,
  )
  await screen.shows('web-1:~#')
  await t.berth.servers.stop(server_id, { force: true })
  await t.finish()
  await turning(t.clock, screen.shows('The server is off.'))
  await screen.shows(/ended with 0\nsame/)
})

test('terminal modes that the guest switched are restored on leaving', async () => {
  const t = await loggedIn()
  const { server_id } = await t.make('web-1')
  const screen = screenOf('server console web-1', t.env)
  await screen.shows('web-1:~#')
  // Many terminals do not know the soft reset, or keep wrapping turned off after it.
  screen.emulator.parser.registerCsiHandler({ intermediates: '!', final: 'p' }, () => true)
  const usual = screen.emulator.modes
  const switched = '\x1b[?7l\x1b[?1;25l\x1b[?1h\x1b[?1003h\x1b[?1004h\x1b[?2004h\x1b[4h\x1b='
  t.driver.prints(server_id, Buffer.from(`${switched}\x1b[?10`))
  t.driver.prints(server_id, Buffer.from('49hin an editor'))
  await screen.shows('in an editor')
  expect(screen.emulator.modes).not.toEqual(usual)
  expect(screen.emulator.buffer.active.type).toBe('alternate')
  screen.type(leave)
  expect(await screen.ended()).toBe(0)
  await screen.shows('web-1:~#')
  expect(screen.emulator.modes).toEqual(usual)
})

test('a code that arrives in parts is recognized, and an alternate screen is left only once', () => {
  const undoing = (...parts: string[]) => {
    const modes = new GuestModes()
    for (const part of parts) modes.read(Buffer.from(part))
    return modes.undoing
  }
  const usual = undoing('plain')
  expect(usual).toContain('\x1b[?7;25h')
  expect(undoing('\x1b', '[', '?', '104', '9', 'h')).toBe(`\x1b[?1049l${usual}`)
  expect(undoing('\x1b[?25;1047h', '\x1b[?25h')).toBe(`\x1b[?1047l${usual}`)
  expect(undoing('\x1b[?1049hvi\x1b[?1049l$ ')).toBe(usual)
  expect(undoing('\x1b[?104', ' 9h', '[?1049h')).toBe(usual)
})

test('the console of a server without a password begins with a hint on how to log in', async () => {
  const t = await loggedIn()
  const { ssh_key_id } = await t.berth.sshKeys.create({ name: 'mine', public_key: PUBLIC_KEY })
  await t.berth.servers.create({ ...(await t.order()), name: 'web-1', ssh_key_ids: [ssh_key_id] })
  await t.finish()
  const screen = screenOf('server console web-1', t.env)
  await screen.answer('web-1:~#', leave)
  expect(await screen.ended()).toBe(0)
  expect(screen.text()).toMatch(
    /^web-1 was created with SSH keys, .* with: berth server reset-password web-1\nConnected/,
  )
})

test('a console that ends without the user’s request prints how to reconnect', async () => {
  const t = await loggedIn()
  const { server_id } = await t.make('web-1')
  const screen = screenOf('server console web-1', t.env)
  await screen.shows('web-1:~#')
  await t.app.consoles.stop()
  expect(await screen.ended()).toBe(1)
  expect(screen.text()).toContain('Disconnected from the console: The service is restarting.')
  expect(screen.text()).toContain(`Connect again with: berth server console ${server_id}`)
})

test('a server without a console is refused with the reason', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await t.run('server stop web-1 --wait')
  await expectSession(t, 'server-console', [
    'server console web-1',
    'server console none',
    'server screen none',
  ])
})

/** Turns the clock until the condition holds. */
async function turning(clock: { advance(ms: number): void }, promise: Promise<void>): Promise<void> {
  const timer = setInterval(() => clock.advance(1_000), 10)
  await promise.finally(() => clearInterval(timer))
}
