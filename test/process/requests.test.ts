import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../api/database/sqlite.ts'
import { resolved } from '../acceptance/harness/schema.ts'
import { type Child, listening, start } from './harness/child.ts'
import { brokenAlways } from './harness/invariants.ts'
import { Requests, type World } from './harness/requests.ts'

const REQUESTS = 10_000
/** The first half fills caches and compiles what is hot, before memory is looked at. */
const WARM_UP = 5_000
const AT_ONCE = 12
const SEED = Number(process.env.BERTH_TEST_SEED ?? 1)
const GROWTH_MB = 30
const PORTS = { first: 22000, last: 22999 }
/** How long bytes that are no request may leave the service waiting for more. */
const PATIENCE_MS = 60

interface Answer {
  status: number
  text: string
}

/** The reply to these bytes; null if there is none. */
function exchange(port: number, bytes: Buffer, isWhole: boolean): Promise<Answer | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write(bytes))
    if (!isWhole) socket.setTimeout(PATIENCE_MS, () => socket.destroy())
    socket.on('data', (chunk) => chunks.push(chunk))
    // A client that sends nonsense is disconnected, perhaps while it still sends.
    socket.on('error', () => {})
    socket.once('close', () => {
      const text = Buffer.concat(chunks)
        .toString()
        .replace(/^HTTP\/1\.1 100 .*\r\n\r\n/, '')
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]
      resolve(status ? { status: Number(status), text } : null)
    })
  })
}

/** The real program on simulated machines, with a probe that tells its memory. */
async function serve() {
  const data = mkdtempSync(path.join(tmpdir(), 'berthd-'))
  const probe = path.join(import.meta.dirname, 'harness/probe.ts')
  const service = start('api/main.ts', ['serve'], {
    BERTH_DATA: data,
    BERTH_COMPUTE: 'simulator',
    BERTH_LOG: 'warn',
    BERTH_RATE_LIMITS: '1000000,1000000,1000000',
    BERTH_SSH_PORTS: `${PORTS.first}-${PORTS.last}`,
    PORT: '0',
    NODE_OPTIONS: `--expose-gc --import=${probe}`,
  })
  onTestFinished(async () => {
    service.process.kill('SIGKILL')
    await service.ended
    rmSync(data, { recursive: true, force: true })
  })
  const { address } = await listening(service)
  const token = readFileSync(path.join(data, 'demo-token'), 'utf8').trim()
  // biome-ignore lint/suspicious/noExplicitAny: a wrong guess fails the assertion that made it
  const call = async (method: string, url: string, body?: object): Promise<any> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const payload = body ? { body: JSON.stringify(body) } : {}
    const reply = await fetch(`${address}${url}`, { method, headers, ...payload })
    return reply.status === 204 ? null : reply.json()
  }
  return { service, data, token, call, port: Number(new URL(address).port) }
}

/** In MB, after a collection of garbage. */
async function memory(service: Child, time: number): Promise<number> {
  service.process.kill('SIGUSR2')
  const line = await service.line((candidate) => candidate.startsWith(`memory ${time}:`))
  return Number(line.split(' ')[2])
}

const TABLES = {
  projects: 'project_id',
  ssh_keys: 'ssh_key_id',
  tokens: 'token_id',
  servers: 'server_id',
  operations: 'operation_id',
  webhooks: 'webhook_id',
  networks: 'network_id',
  volumes: 'volume_id',
  firewalls: 'firewall_id',
  invitations: 'invitation_id',
} as const

/** The ids of all rows. */
async function rowsIn(data: string): Promise<Set<string>> {
  const db = openSqlite(path.join(data, 'berth.db'))
  try {
    const rows = Object.entries(TABLES).map(([table, id]) =>
      db
        .selectFrom(table as 'projects')
        .select(id as 'project_id')
        .execute(),
    ) // or another table with its own id
    // Those for SSH come with their servers.
    const ports = await db.selectFrom('ports').select('port_id').where('is_system', '=', 0).execute()
    return new Set([...(await Promise.all(rows)).flat(), ...ports].flatMap((row) => Object.values(row)))
  } finally {
    await db.destroy()
  }
}

/** The ids that a reply says were made. */
function madeBy({ status, text }: Answer): string[] {
  if (status !== 201 && status !== 202) return []
  const body = JSON.parse(text.slice(text.indexOf('\r\n\r\n')))
  const {
    operation_id,
    current_operation,
    server_id,
    project_id,
    ssh_key_id,
    token_id,
    webhook_id,
    port_id,
    network_id,
    volume_id,
    firewall_id,
    invitation_id,
    event_id,
    ticket,
  } = body
  // The test of a webhook makes an event, like everything else; a ticket for a console is in no table.
  if (event_id !== undefined || ticket !== undefined) return []
  // Operations on volumes may concern no server.
  if (status === 202)
    return [server_id, operation_id ?? current_operation?.operation_id].filter((id) => id !== null)
  return [
    invitation_id ??
      firewall_id ??
      network_id ??
      volume_id ??
      port_id ??
      webhook_id ??
      ssh_key_id ??
      token_id ??
      project_id,
  ]
}

async function prepare(call: Awaited<ReturnType<typeof serve>>['call'], all: string): Promise<World> {
  const document = resolved(await call('GET', '/openapi.json'))
  const [preset] = await call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')
  const [template] = await call('GET', '/templates')
  const ids = { template_id: template.template_id, preset_id: preset.preset_id }
  const order = { zone_slug: 'local-1', plan_type: 'preset', cpu_type: 'amd', ...ids }
  const reader = (await call('POST', '/account/tokens', { name: 'reader', scopes: ['read'] })).token
  const revoked = await call('POST', '/account/tokens', { name: 'revoked', scopes: ['read'] })
  await call('DELETE', `/account/tokens/${revoked.token_id}`)
  const { default_project_id } = await call('GET', '/account/me')
  const tokens = { all, reader, bad: ['', 'x', revoked.token, `${all.slice(0, -1)}?`] }
  return { document, order, tokens, ids: [default_project_id] }
}

test('10,000 random requests leave the service up and small, without a 5xx, and with nothing that no reply told of', async () => {
  const { service, data, token, call, port } = await serve()
  const world = await prepare(call, token)
  const expected = await rowsIn(data)
  const requests = new Requests(world, SEED)
  const wrong: string[] = []
  const one = async () => {
    const { bytes, isWhole } = requests.next()
    const answer = await exchange(port, bytes, isWhole)
    const told = () => `${bytes.toString('latin1').slice(0, 500)} → ${JSON.stringify(answer)?.slice(0, 500)}`
    if (isWhole && answer === null) wrong.push(`no answer: ${told()}`)
    if (!answer) return
    if (answer.status >= 500) wrong.push(told())
    if (answer.status >= 400 && !bytes.includes('HEAD ') && !/"code":"\w+"/.test(answer.text))
      wrong.push(`no code: ${told()}`)
    for (const id of madeBy(answer)) {
      if (!expected.has(id)) world.ids.push(id)
      expected.add(id)
    }
  }
  const send = async (count: number) => {
    let left = count
    const worker = async () => {
      while (left-- > 0) await one()
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }
  await send(WARM_UP)
  const before = await memory(service, 1)
  await send(REQUESTS - WARM_UP)
  const after = await memory(service, 2)

  expect(wrong.slice(0, 5)).toEqual([])
  expect(await call('GET', '/account/me')).toMatchObject({ status: 'active' })
  expect(service.process.exitCode).toBeNull()
  expect(service.stderr).toBe('')
  expect([...(await rowsIn(data))].filter((id) => !expected.has(id))).toEqual([])
  const db = openSqlite(path.join(data, 'berth.db'))
  expect(await brokenAlways({ db, machines: new Map(), ports: PORTS })).toEqual([])
  await db.destroy()
  expect(after - before).toBeLessThan(GROWTH_MB)
}, 900_000)
