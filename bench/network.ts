import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent as HttpAgent } from 'node:http'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { PLAIN_NETWORK } from '../api/drivers/driver.ts'
import { Agent, NetworkWorld } from '../api/drivers/qemu/network/test-world.ts'
import { type Caller, callerOf } from './caller.ts'

const CARDS = 1_000
const FAR = ['192.0.2.80', 80] as const
const BYTES = 100_000_000
const ECHOES = 2_000

/**
 * Compares the network of guests with none and with a pasta, and measures it with 1,000 cards and how soon it is back
 * after its processes die. Works in namespaces, so it needs root; nothing leaves the machine.
 */
export async function benchNetwork(rounds: number): Promise<void> {
  const world = await NetworkWorld.open('root')
  const silent = ['sh', '-c', 'exec "$@" 2> /dev/null', 'sh']
  const pasta = new Agent([...world.onHostPrefix, ...silent, 'pasta', '--config-net', '--runas', '0', '--'])
  try {
    const guest = await world.guest(1)
    await ways(rounds, { 'the host itself': world.host, 'the network of guests': guest, 'a pasta': pasta })
    await crowd(rounds, world)
  } finally {
    await pasta.end('SIGKILL')
    await world.close()
  }
  for (const as of ['root', 'user'] as const) await recovers(rounds, as)
}

/** Measures how long a guest is offline after the process that holds its network dies, from its detection on. */
async function recovers(rounds: number, as: 'root' | 'user'): Promise<void> {
  const world = await NetworkWorld.open(as)
  try {
    const guest = await world.guest(1)
    const member = { pid: await world.member(), card: world.card(1) }
    const losses: Record<string, () => Promise<unknown>> = {
      'its way out is killed': () =>
        as === 'root' ? world.host.run('nft flush ruleset') : world.killPasta(),
      'the process that holds its namespace is killed': () => world.loseNamespace(),
    }
    await world.service.end('SIGKILL')
    await world.startService(world.dataDir, [member])
    for (const [name, lose] of Object.entries(losses)) {
      const took: number[] = []
      for (let round = 0; round < rounds; round++) {
        await lose()
        const before = performance.now()
        const recovered = await world.service.tell<string[]>({ do: 'look' })
        const answer = await guest.reach('tcp', ...FAR)
        took.push(performance.now() - before)
        if (recovered.length === 0 || !answer.includes('from')) throw new Error(`not recovered: ${answer}`)
      }
      const longest = Math.max(...took).toFixed(0)
      console.log(
        `as ${as}, ${name}: back ${longest} ms at most after the next check, which comes every 3 s (target: 2,000)`,
      )
    }
  } finally {
    await world.close()
  }
}

/**
 * Measures the effect of a flooding guest on a neighbour and the API, for a service that is root and for one that is
 * not.
 */
export async function benchFloods(rounds: number): Promise<void> {
  for (const as of ['root', 'user'] as const) await besideFloods(rounds, as)
}

async function besideFloods(rounds: number, as: 'root' | 'user'): Promise<void> {
  const world = await NetworkWorld.open(as)
  const api = fork(new URL('./server.ts', import.meta.url), { execArgv: [] })
  try {
    const [{ berth, token }] = await once(api, 'message')
    const call = callerOf(berth, token, new HttpAgent({ keepAlive: true }))
    console.log(`The service is ${as === 'root' ? 'root' : 'an ordinary user'}:`)
    const guest = await world.guest(1)
    await recording(rounds, world, guest)
    await floods(rounds, guest, {
      'the neighbour': await world.guest(2).then((neighbour) => (count) => echoes(neighbour, count)),
      'the API': (count) => requests(call, count),
    })
  } finally {
    api.disconnect()
    await once(api, 'exit')
    await world.close()
  }
}

/** Measures the durations of consecutive requests in ms. */
async function requests(call: Caller, count: number): Promise<number[]> {
  const took: number[] = []
  for (let at = 0; at < count; at++) {
    const before = performance.now()
    await call('GET', '/servers')
    took.push(performance.now() - before)
  }
  return took
}

/** Measures latency and throughput by each way, by turns, as ratios to the first. */
async function ways(rounds: number, agents: Record<string, Agent>): Promise<void> {
  const seen = new Map<string, { echo: number[]; pour: number[] }>()
  for (let round = 0; round < rounds; round++)
    for (const [name, agent] of Object.entries(agents)) {
      const { echo, pour } = seen.get(name) ?? { echo: [], pour: [] }
      echo.push(median(await echoes(agent)))
      const before = performance.now()
      await agent.tell({ do: 'pour', host: FAR[0], port: FAR[1], bytes: BYTES })
      pour.push(performance.now() - before)
      seen.set(name, { echo, pour })
    }
  const [first] = seen.values()
  for (const [name, { echo, pour }] of seen) {
    const ratio = (of: 'echo' | 'pour', own: number[]) => (median(own) / median(first?.[of] ?? [])).toFixed(2)
    const rate = ((BYTES * 8) / 1e6 / median(pour)).toFixed(1)
    console.log(
      `${name}: a datagram and its answer ${(median(echo) * 1000).toFixed(0)} µs (${ratio('echo', echo)}), ${rate} Gbit/s each way (takes ${ratio('pour', pour)} times as long)`,
    )
  }
}

/** Measures the cost of the record of connections to a flood as a ratio. */
async function recording(rounds: number, world: NetworkWorld, guest: Agent): Promise<void> {
  const took: Record<'with' | 'without', number[]> = { with: [], without: [] }
  const inside = (await world.inside()).join(' ')
  for (let round = 0; round < 5 * rounds; round++)
    for (const way of ['with', 'without'] as const) {
      // The next check of the service loads the rules.
      await world.service.tell({ do: 'look' })
      if (way === 'without')
        await promisify(execFile)('sh', ['-c', `${inside} nft flush chain inet berth_sent sent`])
      const before = performance.now()
      await guest.tell({ do: 'flood', host: FAR[0], first: 1, last: 20_000 })
      took[way].push(performance.now() - before)
    }
  const ratio = median(took.with) / median(took.without)
  console.log(`20,000 new connections of a guest take ${ratio.toFixed(2)} times as long with their record`)
}

type Measured = Record<string, (count: number) => Promise<number[]>>

/**
 * Measures a neighbour's datagrams and API requests while a guest opens 100,000 connections, or broadcasts without
 * end. Each is measured by itself, again before each attack, and attacks take turns, so that other load on the
 * machine affects all of them.
 */
async function floods(rounds: number, guest: Agent, measured: Measured): Promise<void> {
  await guest.run('ip link add own0 type veth peer name own1; ip link set own0 up; ip link set own1 up')
  const perl = async (program: string) => {
    const said = await guest.tell<string>({ do: 'run', command: ['perl', '-e', program] })
    if (said !== '') throw new Error(said)
  }
  const attacks: Record<string, () => Promise<void>> = {
    // The baseline of the other attacks is a guest that only uses its processor, as any guest may.
    'pure computing': () => perl(COMPUTING),
    'a storm of broadcasts that stays in the guest': () => perl(stormOn('own0')),
    'a storm of broadcasts': () => perl(stormOn('eth0')),
    '100,000 new connections': async () => {
      for (const first of [1, 25_001]) {
        const flood = { do: 'flood', host: FAR[0], first, last: first + 24_999 }
        await Promise.all([guest.tell(flood), guest.tell({ ...flood, host: '192.0.2.81' })])
      }
    },
  }
  const seen = new Map<string, { quiet: number[]; loud: number[] }>()
  for (let round = 0; round < rounds; round++)
    for (const [name, attack] of Object.entries(attacks))
      for (const [who, measure] of Object.entries(measured)) {
        const label = `during ${name}, ${who}`
        const { quiet, loud } = seen.get(label) ?? { quiet: [], loud: [] }
        seen.set(label, { quiet, loud })
        quiet.push(...(await measure(ECHOES)))
        let isOver = false
        const end = attack().finally(() => {
          isOver = true
        })
        while (!isOver) loud.push(...(await measure(100)))
        await end
      }
  for (const [label, { quiet, loud }] of seen) {
    const ratio = (share: number) => (percentile(loud, share) / percentile(quiet, share)).toFixed(2)
    const ms = (share: number) => percentile(loud, share).toFixed(2)
    console.log(
      `${label}: the median is ${ratio(0.5)} times what it was (${ms(0.5)} ms), the p99 ${ratio(0.99)} times (${ms(0.99)} ms)`,
    )
  }
}

/** Returns a program that broadcasts a frame as fast as possible for two seconds. */
const stormOn = (
  card: string,
) => `socket(S, 17, 3, 0) or die; my ($i) = \`ip -o link show ${card}\` =~ /^(\\d+)/;
my $to = pack("SniSCCa8", 17, 3, $i, 1, 0, 6, "\\xff" x 6); my $f = pack("H*", "ffffffffffff525400000001" . "0800" . "00" x 100);
my $end = time + 2; while (time < $end) { send(S, $f, 0, $to) for (1 .. 1000) }`

const COMPUTING = 'my $end = time + 2; while (time < $end) { $i++ for (1 .. 1000) }'

/** Measures a change, a check and reading all counters with this many machines. */
async function crowd(rounds: number, world: NetworkWorld): Promise<void> {
  const card = (number: number) => ({
    serverId: `c${number}`,
    mac: `52:54:00:01:${(number >> 8).toString(16).padStart(2, '0')}:${(number & 255).toString(16).padStart(2, '0')}`,
    uid: 0,
    network: { ...PLAIN_NETWORK, number },
  })
  const few = await changes(rounds, world)
  for (let number = 10; number < CARDS + 8; number++)
    await world.service.tell({ do: 'attach', card: card(number) })
  const many = await changes(rounds, world)
  console.log(
    `a change with ${CARDS} machines: ${many.toFixed(0)} ms, ${(many / few).toFixed(1)} times that with two`,
  )
  for (const [name, order] of [
    ['all counters', 'traffic'],
    ['a check of everything', 'look'],
  ] as const) {
    const took = await timed(rounds, () => world.service.tell({ do: order }))
    console.log(`${name} of ${CARDS} machines: ${took.toFixed(0)} ms`)
  }
  // All at once, which is faster than one after the other.
  await world.loseNamespace()
  await world.service.end('SIGKILL')
}

function changes(rounds: number, world: NetworkWorld): Promise<number> {
  let isCut = false
  return timed(rounds, () => {
    isCut = !isCut
    return world.service.tell({ do: 'change', card: world.card(2, { isCut }) })
  })
}

/** The median, in ms. */
async function timed(rounds: number, work: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let round = 0; round < 2 * rounds; round++) {
    const before = performance.now()
    await work()
    took.push(performance.now() - before)
  }
  return median(took)
}

/** Measures the round-trip times of consecutive datagrams in ms. */
function echoes(agent: Agent, count = ECHOES): Promise<number[]> {
  return agent.tell<number[]>({ do: 'echo', host: FAR[0], port: FAR[1], count })
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}
