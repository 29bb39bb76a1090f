import { createInterface } from 'node:readline'
import type { ServerNetwork } from '../driver.ts'
import { QemuWorld } from './test-world.ts'

// For tests: a process in a namespace that plays a host, with two real guests. Each line of its input is the network
// that both get next.

const NAMES = ['one', 'two'] as const
const pools = { ipv4: ['203.0.113.0/24'], ipv6: ['2001:db8:5::/48'] }
const world = await QemuWorld.open({ pools })
for (const name of NAMES) {
  await world.make(name)
  await world.driver.start(name)
}
for (const name of NAMES) await world.untilReady(name)
const keyOf = async (name: string) => (await world.driver.ready(name))?.hostKeys[0]?.publicKey
console.log(JSON.stringify({ one: await keyOf('one'), two: await keyOf('two') }))
for await (const line of createInterface({ input: process.stdin })) {
  const wanted: Record<string, Partial<ServerNetwork>> = JSON.parse(line)
  await world.driver.connect(
    new Map(Object.entries(wanted).map(([name, more]) => [name, { ...world.network(name), ...more }])),
  )
  console.log('{}')
}
await world.close()
