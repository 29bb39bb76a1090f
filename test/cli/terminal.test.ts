import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { test as always, expect } from 'vitest'
import { signUp } from '../api/harness/browser.ts'
import { keys } from '../harness/terminal.ts'
import { meanwhile, type Service } from '../sdk/harness/client.ts'
import { loggedIn } from './harness/berth.ts'
import { screenOf } from './harness/screen.ts'

const { enter, down, space, ctrlC, ctrlD } = keys
// npm test reports that these tests are skipped.
const lacksScript = spawnSync('script', ['--version']).error !== undefined
const test = always.skipIf(lacksScript)

const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGjEcL5KXiTPhbRNw53jDJtdYSFgSH0yGPqPgbWVJzGJ me@laptop\n'

/** Logs in, with a separate home folder, which ssh's keys use, too. */
async function atHome(options: Parameters<typeof loggedIn>[0] = {}) {
  const t = await loggedIn(options)
  t.env.HOME = t.home
  mkdirSync(path.join(t.home, '.ssh'))
  return t
}

/** Lets some time pass with each request until the condition holds, so that a boot is visible. */
async function slowly(t: Service, promise: Promise<void>): Promise<void> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  promise.then(settle, settle)
  while (!isSettled) {
    t.clock.advance(50)
    await t.work()
    await t.berth.zones.list()
  }
  return promise
}

test('create asks step by step, shows the price, and waits with a bar until the server runs', async () => {
  const t = await atHome({ simulator: { bootMs: 250_000 } })
  writeFileSync(path.join(t.home, '.ssh/id_ed25519.pub'), PUBLIC_KEY)
  writeFileSync(path.join(t.home, '.ssh/id_broken.pub'), '-----BEGIN OPENSSH PRIVATE KEY-----\n')
  const screen = screenOf('server create', t.env)
  await screen.answer('❯ local-1, amd: This machine', down + enter)
  await screen.answer('❯ Micro Linux (micro)', enter)
  await screen.answer(/❯ nano +1 CPU, 512 MB, 10 GB +310\.00 RUB a month\n/, enter)
  await screen.shows('~/.ssh/id_ed25519.pub SHA256:f9nQGbgTzmIjaOzd4WjoqBc+gvN/R39quZM1MrHOkjk me@laptop')
  expect(screen.text()).not.toContain('broken')
  screen.type(enter)
  await screen.answer(/\? Name: \(?micro-\d{3}/, `web_1${enter}`)
  await screen.shows('Use up to 63 letters, digits and hyphens')
  screen.type(`${'\x7f'.repeat(5)}web-1${enter}`)
  await screen.shows(/\n\nITEM .+\n\n310\.00 RUB a month, 0\.4247 RUB an hour\.\n/s)
  expect(await t.berth.sshKeys.list()).toMatchObject({ total: 0 })
  await screen.answer('Create this server? (Y/n)', enter)
  await slowly(t, screen.shows(/^create █{10,19}░+ +\d\d% {2}ready {2}\d+ s$/m))
  await meanwhile(t, screen.shows(/^Status: +running$/m))
  expect(await screen.ended()).toBe(0)
  expect(screen.text()).not.toContain('█')
  const [server] = await Array.fromAsync(t.berth.servers.listAll({ name: 'web-1' }))
  expect(server).toMatchObject({ cpu_type: 'intel', plan_type: 'preset', ssh_key_ids: [expect.any(String)] })
  expect(await t.berth.sshKeys.list()).toMatchObject({
    items: [{ name: 'me@laptop', public_key: expect.stringMatching(/^ssh-ed25519 \S+$/) }],
  })
})

test('create offers the keys of the account, sizes within the limits, and names that are free', async () => {
  const t = await atHome()
  await t.berth.sshKeys.create({ name: 'mine', public_key: PUBLIC_KEY })
  await t.make('web-1')
  const screen = screenOf('server create', t.env)
  await screen.answer('Zone:', enter)
  await screen.answer('Image:', down + enter)
  await screen.answer('❯ nano', down.repeat(6) + enter)
  await screen.answer('Cores (1 to 32):', `99${enter}`)
  await screen.shows('Value must be between 1 and 32')
  screen.type(`${'\x7f'.repeat(2)}2${enter}`)
  await screen.answer('Memory in MB (256 to 131072, in steps of 256):', `300${enter}`)
  await screen.shows('Must be a multiple of 256.')
  screen.type(`${'\x7f'.repeat(3)}512${enter}`)
  await screen.answer('Disk in GB (5 to 2000, in steps of 5):', enter)
  await screen.answer('◉ mine SHA256:f9nQ', space + enter)
  await screen.answer('Name:', `web-1${enter}`)
  await screen.shows('You already have a server with this name.')
  screen.type(`${'\x7f'.repeat(5)}web-2${enter}`)
  await screen.answer('Create this server?', `n${enter}`)
  expect(await screen.ended()).toBe(1)
  expect(screen.text()).toContain('Error: Canceled.\nNothing was created.')
  expect(await t.berth.servers.list()).toMatchObject({ total: 1 })
})

test('create marks sizes that do not fit, and shows the reasons for a refusal beside the price', async () => {
  const t = await atHome({ simulator: { host: { diskGb: 60 } }, balance: '1' })
  const screen = screenOf('server create web-1', t.env)
  await screen.answer('Zone:', enter)
  await screen.answer('Image:', enter)
  await screen.shows(/large .*\(no capacity\)/)
  screen.type(enter)
  await screen.shows('or in ~/.ssh: the server gets a generated password')
  expect(await screen.ended()).toBe(1)
  expect(screen.text()).toMatch(/Error: .*\(insufficient_balance\)\nNothing was created\./s)
})

test('Ctrl-C and Ctrl-D at a prompt end the program, which prints the consequence', async () => {
  const t = await atHome()
  for (const key of [ctrlC, ctrlD]) {
    const screen = screenOf('server create', t.env)
    await screen.answer('Zone:', key)
    expect(await screen.ended()).toBe(130)
    expect(screen.text()).toMatch(/\nCanceled\.\nNothing was changed\.$/)
  }
})

test('Ctrl-C ends the wait but not the operation, and clears the progress bar even on a narrow terminal', async () => {
  const t = await atHome()
  const screen = screenOf('server create web-1 --template micro --preset nano --no-ssh-key', t.env, {
    columns: 30,
  })
  await screen.answer(/^create ░+ +0% {2}image {2}\d+ s$/m, ctrlC)
  expect(await screen.ended()).toBe(130)
  const told =
    /^Stopped waiting; the operation continues\.\nFollow it with: berth (operation wait [0-9a-f -]+)$/
  expect(screen.text()).toMatch(told)
  const [, advised = ''] = told.exec(screen.text()) ?? []
  expect(await t.run(advised)).toMatchObject({ code: 0, out: expect.stringMatching(/Status: +succeeded/) })
})

test('delete asks for the name of the object', async () => {
  const t = await atHome()
  await t.make('web-1')
  const wrong = screenOf('server delete web-1', t.env)
  await wrong.answer('This deletes the server web-1. Type its name to confirm:', `web-2${enter}`)
  expect(await wrong.ended()).toBe(2)
  expect(wrong.text()).toContain('Error: "web-2" does not match web-1.\nNothing was deleted.')
  const right = screenOf('server delete web-1', t.env)
  await right.answer('Type its name', `web-1${enter}`)
  expect(await meanwhile(t, right.ended())).toBe(0)
  expect(await t.berth.servers.list()).toMatchObject({ total: 0 })
})

test('a running server is resized after confirmation', async () => {
  const t = await atHome()
  await t.make('web-1')
  const screen = screenOf('server resize web-1 --preset small', t.env)
  await screen.answer('Server web-1 is running. Stop it, resize it and start it again? (y/N)', `y${enter}`)
  await meanwhile(t, screen.shows(/Status: +running\nSize: +2 CPU/))
  expect(await screen.ended()).toBe(0)
})

test('interrupting a resize reports the state of the server and how to complete it', async () => {
  const t = await atHome({ simulator: { shutdownMs: 30_000 } })
  const { server_id } = await t.make('web-1')
  const screen = screenOf('server resize web-1 --preset small --stop', t.env)
  await screen.answer(/^stop ░+ +0%/m, ctrlC)
  expect(await screen.ended()).toBe(130)
  expect(screen.text()).toContain(
    'Stopped waiting. The server is being stopped; it was not resized and will not be started again.\nFollow it with: ',
  )
  const next = `; then: berth server resize ${server_id} --preset small; then: berth server start ${server_id}`
  expect(screen.text().endsWith(next)).toBe(true)
})

test('ssh gets the terminal, and with it Ctrl-C', async () => {
  const t = await atHome()
  await t.make('web-1')
  const folder = path.join(t.home, 'bin')
  mkdirSync(folder)
  const ssh = '#!/bin/sh\ntrap \'exit 42\' INT\nread line\necho "you typed $line"\nread line\n'
  writeFileSync(path.join(folder, 'ssh'), ssh, { mode: 0o755 })
  const screen = screenOf('server ssh web-1', { ...t.env, PATH: `${folder}:${process.env.PATH}` })
  screen.type(`uptime${enter}`)
  await screen.answer('you typed uptime', ctrlC)
  expect(await screen.ended()).toBe(42)
  expect(screen.text()).not.toContain('Error')
})

test('login shows a code, and once it is approved in a browser, saves a token named after the machine', async () => {
  const t = await atHome()
  const ann = await signUp(t, 'ann@example.com')
  const screen = screenOf(`login ${t.baseUrl} --scope read`, { HOME: t.home, XDG_CONFIG_HOME: t.home })
  await screen.shows('Waiting for your approval; the code expires in 10 minutes.')
  const [, user_code] = /^Open http:\S+\/device in a browser, .* code (\S+)$/m.exec(screen.text()) ?? []
  const { account_id } = ann.person
  expect((await ann.call('POST', '/device/approve', { user_code, account_id })).status).toBe(204)
  await screen.shows('Logged in as ann@example.com.')
  expect(await screen.ended()).toBe(0)
  expect((await ann.call('GET', '/account/tokens')).body.items).toMatchObject([
    { name: `berth on ${hostname()}`, scopes: ['read'] },
  ])
  const again = screenOf('login', { HOME: t.home, XDG_CONFIG_HOME: t.home })
  await again.answer('Waiting for your approval', ctrlC)
  await again.shows(/\nCanceled\.\nNothing was saved\./)
  expect(again.text()).not.toContain('Error')
  expect(await again.ended()).toBe(130)
})

test('without a web console, login advises to use a token', async () => {
  const t = await atHome({ hasConsole: false })
  const screen = screenOf(`login ${t.baseUrl}`, { HOME: t.home, XDG_CONFIG_HOME: t.home })
  await screen.shows('berth login <url> --with-token')
  expect(screen.text()).toContain('runs without its console')
  expect(await screen.ended()).toBe(5)
})

test('a token typed at login is not echoed', async () => {
  const t = await atHome()
  const screen = screenOf(`login --with-token ${t.baseUrl}`, { HOME: t.home, XDG_CONFIG_HOME: t.home })
  await screen.answer('Token:', `${t.token}${enter}`)
  await screen.shows('Logged in as customer1@example.com.')
  expect(await screen.ended()).toBe(0)
  expect(screen.text()).not.toContain(t.token.slice(0, 12))
})
