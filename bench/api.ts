import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Load, load } from './load.ts'

const CONNECTIONS = 32
const IDLE_MB = 100
/** Node runs with these flags under `npm start`, too. */
const FLAGS = ['--max-semi-space-size=8']
const ENV = { ...process.env, NODE_COMPILE_CACHE: 'node_modules/.cache/node', MALLOC_ARENA_MAX: '1' }

interface Ports {
  berth: number
  bare: number
  token: string
  /** Tokens of other accounts. */
  others: string[]
  hcloudToken: string
  /** The project of that token. */
  projectId: string
  order: object
}

/** Measures the API beside a bare Fastify handler over the same prepared SQL, in one run, as ratios. */
export async function benchApi(rounds: number): Promise<void> {
  await idle()
  // The first start after a change compiles the program, and caches the result for the next one.
  const first = start()
  await once(first, 'message')
  first.disconnect()
  await once(first, 'exit')
  const server = start()
  try {
    const [ports] = (await once(server, 'message')) as [Ports] // the first message of bench/server.ts
    await creates(server, ports, [ports.token], 'one account')
    await creates(server, ports, ports.others, `${ports.others.length} accounts`)
    await compare(
      'GET 20 of 1,000 servers',
      ports,
      rounds,
      0.7,
      () => get(ports, '/v1/servers?limit=20'),
      'HTTP/1.1 200',
    )
    await besides(server, ports, rounds)
    const id = await firstServer(ports)
    await compare('GET one server', ports, rounds, 0.7, () => get(ports, `/v1/servers/${id}`), 'HTTP/1.1 200')
    await compare(
      'POST project',
      ports,
      rounds,
      null,
      (n) => postJson(ports, '/v1/account/projects', { name: `p${n}` }),
      'HTTP/1.1 201',
      // An account can have at most 100 projects, and its existing ones are counted.
      { requests: 300, after: () => ask(server, 'forget projects') },
    )
    await growth(server, ports, rounds)
    await sleep(3_000)
    await memory(server, 'after all of it')
  } finally {
    server.disconnect()
    await once(server, 'exit')
  }
}

/** Runs bench/server.ts as `npm start` runs the service. */
function start(): ChildProcess {
  return fork(new URL('./server.ts', import.meta.url), { execArgv: FLAGS, env: ENV })
}

/** Prints the memory of the service itself, three minutes after a start. The start before that one compiles. */
async function idle(): Promise<void> {
  const data = mkdtempSync(path.join(tmpdir(), 'berth-bench-'))
  const env = { ...ENV, BERTH_DATA: data, BERTH_COMPUTE: 'simulator', PORT: '0' }
  const main = new URL('../api/main.ts', import.meta.url).pathname
  let status = ''
  for (const seconds of [20, 180]) {
    const service = spawn(process.execPath, [...FLAGS, main, 'serve'], { env, stdio: 'ignore' })
    await sleep(1000 * seconds)
    status = readFileSync(`/proc/${service.pid}/status`, 'utf8')
    service.kill('SIGTERM')
    await once(service, 'exit')
  }
  rmSync(data, { recursive: true })
  const kb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1])
  console.log(`memory of the idle service: ${(kb / 1024).toFixed(0)} MB (target: ${IDLE_MB})`)
}

function get({ token }: Pick<Ports, 'token'>, url: string): string {
  return `GET ${url} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n\r\n`
}

function postJson({ token }: Pick<Ports, 'token'>, url: string, value: object): string {
  const body = JSON.stringify(value)
  const head = `POST ${url} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json`
  return `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

async function compare(
  what: string,
  ports: Ports,
  rounds: number,
  target: number | null,
  request: (n: number) => string,
  expect: string,
  { requests = 3_000, after = async () => {} }: { requests?: number; after?: () => Promise<unknown> } = {},
): Promise<void> {
  const ratios: number[] = []
  let last: { berth: Load; bare: Load } | null = null
  for (let round = 0; round <= rounds; round++) {
    const options = { request, expect, connections: CONNECTIONS, requests }
    const bare = await load({ ...options, port: ports.bare })
    const berth = await load({ ...options, port: ports.berth })
    // The first round warms both up.
    if (round > 0) ratios.push(berth.perSecond / bare.perSecond)
    last = { berth, bare }
    await after()
  }
  const show = ({ perSecond, p99 }: Load) => `${perSecond.toFixed(0)}/s, p99 ${p99.toFixed(1)} ms`
  console.log(
    `${what}: ${median(ratios).toFixed(2)} of bare${target ? ` (target: at least ${target})` : ''}; last round: ${last ? `${show(last.berth)}; bare ${show(last.bare)}` : ''}`,
  )
}

/**
 * The list of /hcloud/v1 beside the list of /v1 that it translates, of one project in its order: the CPU time of the
 * service, in short turns, so that other programs of the machine slow both equally.
 */
async function besides(server: ChildProcess, ports: Ports, rounds: number): Promise<void> {
  const { berth: port, token, hcloudToken, projectId } = ports
  const translated = `/v1/servers?limit=20&sort=created_at&project_id=${projectId}`
  const requests = 150
  const cpuOf = async (request: string) => {
    const before = await ask<{ cpuMs: number }>(server, 'cpu')
    const options = { request: () => request, expect: 'HTTP/1.1 200', connections: CONNECTIONS, requests }
    await load({ ...options, port })
    return (await ask<{ cpuMs: number }>(server, 'cpu')).cpuMs - before.cpuMs
  }
  const used = { own: 0, other: 0 }
  const turns = 10 * rounds
  for (let turn = -10; turn < turns; turn++) {
    const own = await cpuOf(get({ token }, translated))
    const other = await cpuOf(get({ token: hcloudToken }, '/hcloud/v1/servers?per_page=20'))
    // The first turns warm both up.
    if (turn < 0) continue
    used.own += own
    used.other += other
  }
  const each = (ms: number) => (ms / turns / requests).toFixed(2)
  console.log(
    `GET 20 servers of /hcloud/v1: ${(used.own / used.other).toFixed(2)} of /v1 by CPU time (target: at least 0.9); ${each(used.other)} ms, ${each(used.own)} ms`,
  )
}

/** Measures 1,000 servers from the first POST until the last one runs, ordered with these tokens by turns. */
async function creates(server: ChildProcess, ports: Ports, tokens: string[], whose: string): Promise<void> {
  const requests = 1_000
  const { running: before } = await ask<{ running: number }>(server, 'running')
  const { cpuMs } = await ask<{ cpuMs: number }>(server, 'cpu')
  const start = performance.now()
  const accepted = await load({
    port: ports.berth,
    connections: CONNECTIONS,
    requests,
    request: (n) => postJson({ token: tokens[n % tokens.length] ?? '' }, '/v1/servers', ports.order),
    expect: 'HTTP/1.1 202',
  })
  let running = before
  while (running < before + requests) {
    running = (await ask<{ running: number }>(server, 'running')).running
    await sleep(20)
  }
  const seconds = (performance.now() - start) / 1000
  const used = (await ask<{ cpuMs: number }>(server, 'cpu')).cpuMs - cpuMs
  console.log(
    `1,000 creates of ${whose}: ${(used / requests).toFixed(2)} ms of CPU each, until it runs; ${accepted.perSecond.toFixed(0)}/s accepted (target: 600), p99 ${accepted.p99.toFixed(0)} ms; ${(requests / seconds).toFixed(0)}/s running (target: 250)`,
  )
}

/** The first page must cost the same with a hundred servers and with a hundred thousand. */
async function growth(server: ChildProcess, ports: Ports, rounds: number): Promise<void> {
  const measure = async () => {
    const speeds: number[] = []
    for (let round = 0; round <= rounds; round++)
      speeds.push(
        (
          await load({
            port: ports.berth,
            connections: CONNECTIONS,
            requests: 1_000,
            request: () => get(ports, '/v1/servers?limit=20'),
            expect: 'HTTP/1.1 200',
          })
        ).perSecond,
      )
    return median(speeds.slice(1))
  }
  const small = await measure()
  await ask(server, { fill: 100_000 })
  const large = await measure()
  console.log(
    `page one of 100,000 servers costs ${(small / large).toFixed(2)} times that of 1,000 (target: at most 1.2)`,
  )
}

async function firstServer(ports: Ports): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${ports.berth}/v1/servers?limit=1`, {
    headers: { authorization: `Bearer ${ports.token}` },
  })
  const { items } = (await reply.json()) as { items: { server_id: string }[] } // by the contract
  return items[0]?.server_id ?? ''
}

async function memory(server: ChildProcess, when: string): Promise<void> {
  const { rss } = await ask<{ rss: number }>(server, 'memory')
  console.log(`memory ${when}: ${(rss / 2 ** 20).toFixed(0)} MB`)
}

async function ask<Answer>(server: ChildProcess, question: string | object): Promise<Answer> {
  const answer = once(server, 'message')
  server.send(question)
  return (await answer)[0] as Answer // bench/server.ts answers each question in its own form
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
