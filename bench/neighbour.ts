import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Caller, callerOf } from './caller.ts'

const TARGET = 3
/** Limits count by the minute, and the attacker starts each minute with all of them unused. */
const PHASE_MS = 60_000
/** The neighbour's load: nine reads and a write a second, within its limits. */
const EVERY_MS = 100
const main = new URL('../api/main.ts', import.meta.url).pathname

/** The parameters that the hostile process gets at its start. */
export interface Target {
  port: number
  tokens: string[]
  order: object
}

/**
 * Measures what one hostile account at all its limits costs its neighbour: latencies of a steady mix of requests,
 * alternately alone and beside it, in one run. The service is the real process with its own limits, on simulated
 * machines; neighbour and attacker are processes with addresses of their own.
 */
export async function benchNeighbour(rounds: number): Promise<void> {
  const data = mkdtempSync(path.join(tmpdir(), 'berth-bench-'))
  const env = { ...process.env, BERTH_DATA: data, BERTH_COMPUTE: 'simulator', PORT: '0' }
  // As `npm start` runs it.
  const started = ['--max-semi-space-size=8', main, 'serve']
  const service = spawn(process.execPath, started, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let attacker: ChildProcess | null = null
  try {
    const port = await portOf(service)
    const run = (...args: string[]) => berthd(env, args)
    const call = callerOf(port, readFileSync(path.join(data, 'demo-token'), 'utf8').trim(), new Agent())
    const order = await orderOf(call)
    const target = { port, order, tokens: await hostileTokens(run, port) }
    attacker = fork(new URL('./hostile.ts', import.meta.url), { execArgv: [] })
    attacker.send(target)
    await once(attacker, 'message')
    const computed = () => Number(readFileSync(`/proc/${service.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
    await measure({ ask: await neighbourOf(call, order), computed }, attacker, rounds)
  } finally {
    attacker?.kill()
    service.kill('SIGTERM')
    await once(service, 'exit')
    rmSync(data, { recursive: true, force: true })
  }
}

/** Figures of one request: the wall time, and the CPU time of the service's thread meanwhile. */
interface Latency {
  clock: number
  computed: number
}

interface Asked {
  ask: () => Promise<void>
  /** Milliseconds that the service's thread has computed so far. */
  computed: () => number
}

async function measure(asked: Asked, attacker: ChildProcess, rounds: number): Promise<void> {
  const all: Record<'alone' | 'beside', Latency[]> = { alone: [], beside: [] }
  await phase(asked, 3_000)
  for (let round = 0; round < rounds; round++) {
    const alone = await phase(asked, PHASE_MS)
    attacker.send('attack')
    const beside = await phase(asked, PHASE_MS)
    attacker.send('rest')
    const [report] = await once(attacker, 'message')
    console.log(`round ${round + 1}: alone ${say(alone)}; beside ${say(beside)}; attacker ${report}`)
    all.alone.push(...alone)
    all.beside.push(...beside)
    await sleep(2_000)
  }
  for (const what of ['clock', 'computed'] as const) {
    const ratio = (share: number) => (at(all.beside, what, share) / at(all.alone, what, share)).toFixed(2)
    const how = what === 'clock' ? 'by the clock' : 'by the CPU time of the service'
    console.log(
      `a neighbour beside one hostile account, ${how}: p50 ${ratio(0.5)}, p99 ${ratio(0.99)} times alone`,
    )
  }
  console.log(`target: p99 at most ${TARGET} times; on a busy machine, only the CPU time is meaningful`)
}

const at = (all: readonly Latency[], what: keyof Latency, share: number) =>
  all.map((one) => one[what]).toSorted((a, b) => a - b)[Math.floor(all.length * share)] ?? 0
const say = (all: readonly Latency[]) =>
  [0.5, 0.99]
    .map(
      (share) =>
        `p${share * 100} ${at(all, 'clock', share).toFixed(1)} (${at(all, 'computed', share).toFixed(1)})`,
    )
    .join(', ')

/** Sends requests at fixed times, even if earlier ones are not answered yet. */
async function phase({ ask, computed }: Asked, ms: number): Promise<Latency[]> {
  const latencies: Promise<Latency>[] = []
  const start = performance.now()
  for (let due = start; due < start + ms; due += EVERY_MS) {
    await sleep(Math.max(0, due - performance.now()))
    const [sent, before] = [performance.now(), computed()]
    latencies.push(ask().then(() => ({ clock: performance.now() - sent, computed: computed() - before })))
  }
  return Promise.all(latencies)
}

/** The neighbour's mix, on a server of its own. */
async function neighbourOf(call: Caller, order: object): Promise<() => Promise<void>> {
  const made = await call('POST', '/servers', order)
  if (made.status !== 202) throw new Error(`the neighbour got no server: ${made.text}`)
  const server = `/servers/${JSON.parse(made.text).server_id}`
  const reads = ['/servers', server, `${server}/details`, '/account/me', '/events?limit=20', '/zones']
  let count = 0
  return async () => {
    const number = count++
    const isWrite = number % 10 === 9
    const { status, text } = isWrite
      ? await call('PATCH', server, { name: `web-${number}` })
      : await call('GET', reads[number % reads.length] ?? server)
    if (status !== 200) throw new Error(`the neighbour got ${status}: ${text}`)
  }
}

async function orderOf(call: Caller): Promise<object> {
  const get = async (url: string) => JSON.parse((await call('GET', url)).text)
  const [{ zone_slug, cpu_types }] = await get('/zones')
  const cpu_type = cpu_types[0]
  const [{ template_id }] = await get('/templates')
  const [{ preset_id }] = await get(`/pricing/presets?zone_slug=${zone_slug}&cpu_type=${cpu_type}`)
  return { zone_slug, cpu_type, plan_type: 'preset', preset_id, template_id }
}

/** An account that paid, with as many tokens as it may have. */
async function hostileTokens(run: (...args: string[]) => Promise<string>, port: number): Promise<string[]> {
  const email = 'hostile@example.com'
  await run('account', 'create', email)
  await run('account', 'credit', email, '100000', '--reason', 'bench')
  const first = (await run('token', 'create', email)).trim().split('\n').at(-1) ?? ''
  const call = callerOf(port, first, new Agent({ localAddress: '127.0.0.2' }))
  const tokens = [first]
  for (;;) {
    const body = { name: `t${tokens.length}`, scopes: ['read', 'write'] }
    const { status, text } = await call('POST', '/account/tokens', body)
    if (status !== 201) return tokens
    tokens.push(JSON.parse(text).token)
  }
}

async function portOf(service: ChildProcess): Promise<number> {
  let said = ''
  for await (const chunk of service.stdout ?? []) {
    said += chunk
    const port = /"address":"http:\/\/[^"]+:(\d+)\/v1"/.exec(said)?.[1]
    if (port) {
      service.stdout?.resume()
      return Number(port)
    }
  }
  throw new Error(`the service ended: ${said}`)
}

async function berthd(env: NodeJS.ProcessEnv, args: string[]): Promise<string> {
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`berthd ${args.join(' ')} ended with ${code}`)
  return said
}
