import { once } from 'node:events'
import { Agent } from 'node:http'
import { createConnection, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { callerOf } from './caller.ts'
import type { Target } from './neighbour.ts'

/** The attacker of bench/neighbour.ts: one account at all its limits at once, until it is stopped. */

/**
 * The address differs from the neighbour's, because connections are counted by address. The numbers below together
 * reach the limit of one address.
 */
const ADDRESS = '127.0.0.2'
const [READERS, WRITERS, REFUSED, WAITS, STREAMS, IDLE, STALLED] = [12, 6, 4, 50, 20, 110, 40]
/** After a 429; the bucket refills by the second. */
const PAUSE_MS = 250

const [target] = (await once(process, 'message')) as [Target] // the first message of bench/neighbour.ts
const agent = new Agent({ keepAlive: true, localAddress: ADDRESS })
const calls = target.tokens.map((token) => callerOf(target.port, token, agent))
const counts = new Map<string, number>()
const sockets = new Set<Socket>()
let isAttacking = false
/** The id of the newest operation. */
let waited = '/operations?limit=1'
let turn = 0

const oneOf = <Item>(items: readonly Item[]): Item => {
  const item = items[turn++ % items.length]
  if (item === undefined) throw new Error('nothing to take from')
  return item
}

async function ask(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
  const reply = await oneOf(calls)(method, path, body, headers).catch(() => ({ status: 0, text: '' }))
  counts.set(String(reply.status), (counts.get(String(reply.status)) ?? 0) + 1)
  if (reply.status === 429 || reply.status === 0) await sleep(PAUSE_MS)
  return reply
}

const READS = [
  ...['/servers?limit=200', '/events?limit=200', '/operations?limit=200', '/account/audit?limit=200'],
  ...['/openapi.json', '/pricing/capacity', '/account/usage', '/account/transactions?limit=200'],
]

async function read(): Promise<void> {
  await ask('GET', oneOf(READS))
}

/** Creates and deletes servers with as much text as allowed. */
async function write(): Promise<void> {
  const made = await ask('POST', '/servers', { ...target.order, user_data: '#'.repeat(16_000) })
  if (made.status !== 202) return void (await ask('POST', '/account/projects', { name: `p${turn}` }))
  const { server_id, current_operation } = JSON.parse(made.text)
  waited = `/servers/${server_id}/operations/${current_operation.operation_id}?wait=60`
  await ask('DELETE', `/servers/${server_id}`)
}

/** Sends the largest bodies, which are refused late and whose replies are stored. */
async function refused(): Promise<void> {
  const body = JSON.stringify(
    Object.fromEntries(Array.from({ length: 990 }, (_, at) => [`${at}${'x'.repeat(250)}`, at])),
  )
  await ask('POST', '/servers', body, { 'idempotency-key': `k${Math.random()}` })
}

async function wait(): Promise<void> {
  const { status } = await ask('GET', waited)
  if (status !== 429) await sleep(PAUSE_MS)
}

/** Holds connections, and opens them again when the service closes them. */
function hold(say: string, drip = ''): void {
  if (!isAttacking) return
  const socket = createConnection({ port: target.port, host: '127.0.0.1', localAddress: ADDRESS })
  sockets.add(socket)
  const dripping = setInterval(() => drip && socket.write(drip), 1_000)
  socket.on('connect', () => say && socket.write(say))
  socket.on('data', () => {})
  socket.on('error', () => {})
  socket.on('close', () => {
    clearInterval(dripping)
    sockets.delete(socket)
    counts.set('closed', (counts.get('closed') ?? 0) + 1)
    setTimeout(() => hold(say, drip), PAUSE_MS)
  })
}

const head = (line: string, ...headers: string[]) =>
  `${[line, 'host: bench', `authorization: Bearer ${oneOf(target.tokens)}`, ...headers].join('\r\n')}\r\n\r\n`

async function repeat(work: () => Promise<void>): Promise<void> {
  while (isAttacking) await work()
}

function attack(): void {
  isAttacking = true
  const kinds: [workers: number, work: () => Promise<void>][] = [
    [READERS, read],
    [WRITERS, write],
    [REFUSED, refused],
    [WAITS, wait],
  ]
  for (const [workers, work] of kinds) for (let at = 0; at < workers; at++) void repeat(work)
  for (let at = 0; at < STREAMS; at++) hold(head('GET /v1/events/stream HTTP/1.1'))
  for (let at = 0; at < IDLE; at++) hold('')
  const stalled = ['content-type: application/json', 'content-length: 262144']
  for (let at = 0; at < STALLED; at++)
    hold(`${head('POST /v1/account/projects HTTP/1.1', ...stalled)}${' '.repeat(100_000)}`, ' ')
}

process.on('message', (told) => {
  if (told === 'attack') attack()
  if (told !== 'rest') return
  isAttacking = false
  for (const socket of sockets) socket.destroy()
  process.send?.([...counts].map(([status, count]) => `${status}: ${count}`).join(', '))
  counts.clear()
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
