import { spawnSync } from 'node:child_process'
import { test as always, expect } from 'vitest'
import { screenOfCommand } from '../harness/terminal.ts'
import { expectSession, loggedIn } from './harness/berth.ts'
import { screenOf } from './harness/screen.ts'

// npm test says loudly that it leaves these out.
const test = always.skipIf(spawnSync('script', ['--version']).error !== undefined)
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
  expect(screen.text()).not.toContain('beyond')
})

test('the terminal is as it was when the console ends, and why it ended is said', async () => {
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

test('a console that ends by no wish of the user says how to come back', async () => {
  const t = await loggedIn()
  const { server_id } = await t.make('web-1')
  const screen = screenOf('server console web-1', t.env)
  await screen.shows('web-1:~#')
  await t.app.consoles.stop()
  expect(await screen.ended()).toBe(1)
  expect(screen.text()).toContain('Disconnected from the console: The service is restarting.')
  expect(screen.text()).toContain(`Connect again with: berth server console ${server_id}`)
})

test('what has no console is refused with why', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await t.run('server stop web-1 --wait')
  await expectSession(t, 'server-console', ['server console web-1', 'server console none'])
})

/** Turns the clock until it is so. */
async function turning(clock: { advance(ms: number): void }, promise: Promise<void>): Promise<void> {
  const timer = setInterval(() => clock.advance(1_000), 10)
  await promise.finally(() => clearInterval(timer))
}
