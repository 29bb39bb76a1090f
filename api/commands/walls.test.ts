import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError } from '../config.ts'
import { incus } from '../drivers/incus/module.ts'
import type { DriverUse } from '../drivers/module.ts'
import { wallsOf } from '../drivers/qemu/walls.ts'
import { simulator } from '../drivers/simulator/module.ts'
import { demoBalance, openDemo } from './demo.ts'
import { openDatabase } from './installation.ts'
import { ownWalls, requireWalls } from './walls.ts'

const isolation = {
  ...{ users: null, firewall: null, network: null },
  ...{ virtualization: null, confinement: null, limits: null },
}
const behindProxy = { host: '127.0.0.1', trustProxy: ['127.0.0.1/32'] }
const shown = { site: 'http://127.0.0.1:8080', isShown: true }
const unused: DriverUse = {
  ...{ dataDir: '/nowhere', accel: 'auto' },
  ...{ isChosen: false, isHeld: false, zoneSlugs: [], obstacle: null },
}

interface Installation {
  config: Parameters<typeof ownWalls>[0]
  isolation: Parameters<typeof wallsOf>[0]
  simulated: Partial<DriverUse>
  containers: string[]
  balance: number
}
const safe: Installation = { config: behindProxy, isolation, simulated: {}, containers: [], balance: 0 }

async function wallsWith(facts: Partial<Installation>) {
  const { config, isolation, simulated, containers, balance } = { ...safe, ...facts }
  const others = await Promise.all([
    incus.examine({ ...unused, zoneSlugs: containers }),
    simulator.examine({ ...unused, ...simulated }),
  ])
  return [...wallsOf(isolation), ...others.flatMap(({ walls }) => walls), ...ownWalls(config, { balance })]
}

const missing = async (facts: Partial<Installation>) =>
  (await wallsWith(facts)).filter(({ gap }) => gap !== null).map(({ name }) => name)
const without = (part: keyof typeof isolation) => ({ isolation: { ...isolation, [part]: 'it is not there' } })
const listening = (host: string, ...trustProxy: string[]) => ({ config: { host, trustProxy } })

test('an installation with all walls starts for strangers', async () => {
  const walls = await wallsWith({})
  expect(() => requireWalls({ walls })).not.toThrow()
  expect(await missing(listening('::1'))).toEqual([])
  expect(await missing(listening('10.0.0.2', '10.0.0.1/32'))).toEqual([])
})

test.each<[fact: string, facts: Partial<Installation>, wall: string]>([
  ['simulated servers', { simulated: { isChosen: true } }, 'real servers'],
  ['a zone with simulated servers', { simulated: { isHeld: true } }, 'real servers'],
  ['a host without QEMU', { simulated: { obstacle: 'QEMU is not installed' } }, 'real servers'],
  ['machines without users of their own', without('users'), 'a user per server'],
  ['guests that reach the host', without('firewall'), 'firewall'],
  ['guests in the network of the host', without('network'), 'guest network'],
  ['emulation', without('virtualization'), 'virtualization'],
  ['a QEMU that sees its host', without('confinement'), 'confinement'],
  ['no control groups', without('limits'), 'limits'],
  ['containers', { containers: ['dc-1'] }, 'a kernel per server'],
  ['plain HTTP', listening('192.0.2.1'), 'entry only by a proxy'],
  ['plain HTTP by a name like the loopback', listening('127.0.0.1.example.com'), 'entry only by a proxy'],
  ['a way past the proxy', listening('0.0.0.0', '127.0.0.1/32', '::1/128'), 'entry only by a proxy'],
  ['a demo account with money', { balance: 1 }, 'paid balances'],
])('%s: an installation for strangers does not start, and says how to mend it', async (_, facts, wall) => {
  expect(await missing(facts)).toEqual([wall])
  const walls = await wallsWith(facts)
  expect(() => requireWalls({ walls })).toThrow(ConfigError)
  expect(() => requireWalls({ walls })).toThrow(walls.find(({ name }) => name === wall)?.mend)
})

test('all that is missing is named at once, and what could not be looked at is missing', async () => {
  const walls = await wallsWith({
    ...listening('0.0.0.0'),
    simulated: { isChosen: true },
    isolation: 'QEMU is not installed',
    containers: ['dc-1'],
    balance: 1,
  })
  expect(walls.filter(({ gap }) => gap === null)).toEqual([])
  for (const { name } of walls) expect(() => requireWalls({ walls })).toThrow(`\n  ${name}: `)
})

test('where strangers may be customers the first account has no money, and its token is in a file that only the owner reads', async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'berth-walls-'))
  const db = await openDatabase({ dataDir }, { say: () => {}, holdsLock: true, mayCreate: true })
  onTestFinished(async () => {
    await db.destroy()
    rmSync(dataDir, { recursive: true })
  })
  const demo = await openDemo(db, { dataDir, isPublic: true }, shown)
  expect(demo).toMatchObject({ balance: 0, newToken: null })
  const tokenFile = demo?.tokenFile ?? ''
  expect(readFileSync(tokenFile, 'utf8')).toMatch(/^berth_/)
  expect(statSync(tokenFile).mode & 0o777).toBe(0o600)
  expect(await demoBalance(db)).toBe(0)
  // An installation for trusted people gave it a balance, which strangers would find.
  await openDemo(db, { dataDir, isPublic: false }, shown)
  expect(await demoBalance(db)).toBeGreaterThan(0)
})
