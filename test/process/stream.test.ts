import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../api/database/sqlite.ts'
import { endpoint } from '../api/harness/endpoint.ts'
import { Listener } from '../api/harness/sse.ts'
import { listening, start } from './harness/child.ts'

const KILLS = 6
const WRITERS = 4
const DEADLINE_MS = 800_000

async function serve(data: string, port: string) {
  const service = start('api/main.ts', ['serve'], {
    BERTH_DATA: data,
    BERTH_COMPUTE: 'simulator',
    BERTH_LOG: 'warn',
    BERTH_RATE_LIMITS: '1000000,1000000,1000000',
    BERTH_WEBHOOK_ALLOW: '127.0.0.0/8',
    PORT: port,
  })
  const { address } = await listening(service)
  return { service, address, port: new URL(address).port }
}

/** Reads the stream until it has seen an event that says so, coming back whenever it is cut off. */
async function follow(address: string, headers: Record<string, string>, isLast: (name: string) => boolean) {
  const ids: string[] = []
  const deadline = Date.now() + DEADLINE_MS
  let cuts = 0
  while (Date.now() < deadline) {
    const last = ids.at(-1) ?? headers['last-event-id'] ?? ''
    try {
      const reply = await fetch(`${address}/events/stream`, {
        headers: { ...headers, 'last-event-id': last },
      })
      if (reply.status !== 200) throw new Error(`the stream was answered ${reply.status}`)
      const listener = new Listener(reply)
      for (let message = await listener.next(); message; message = await listener.next()) {
        ids.push(message.id)
        if (isLast(message.event.data.name)) return { ids, cuts }
      }
    } catch {
      // Killed: it comes back.
    }
    cuts += 1
    await sleep(20)
  }
  throw new Error(`the last event did not come; ${ids.length} did`)
}

/** Somebody who makes projects and deletes them again, and does not mind when nobody answers. */
function client(address: string, headers: Record<string, string>) {
  const post = (name: string, method = 'POST', at = '') =>
    fetch(`${address}/account/projects${at}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(method === 'DELETE' ? {} : { body: JSON.stringify({ name }) }),
    })
  const made: string[] = []
  const write = async (name: string, isOver: () => boolean) => {
    while (!isOver())
      try {
        const { project_id } = (await (await post(name)).json()) as { project_id?: string } // as the schema says
        if (!project_id) continue
        made.push(project_id)
        await post('', 'DELETE', `/${project_id}`)
      } catch {
        await sleep(20)
      }
  }
  const tidy = async () => {
    const reply = await fetch(`${address}/account/projects?limit=200`, { headers })
    const { items } = (await reply.json()) as { items: { project_id: string; is_default: boolean }[] } // as the schema says
    for (const { project_id, is_default } of items)
      if (!is_default) await post('', 'DELETE', `/${project_id}`)
  }
  return { post, made, write, tidy }
}

test('across kill -9 a client that follows the stream misses and doubles nothing, and a webhook gets all in order', async () => {
  const data = mkdtempSync(path.join(tmpdir(), 'berth-stream-'))
  onTestFinished(() => rmSync(data, { recursive: true, force: true }))
  let { service, address, port } = await serve(data, '0')
  onTestFinished(() => void service.process.kill('SIGKILL'))
  const token = readFileSync(path.join(data, 'demo-token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${token}` }
  const { items } = (await (await fetch(`${address}/events`, { headers })).json()) as {
    items: { event_id: string }[]
  } // as the schema says
  const seen = items.map(({ event_id }) => event_id)
  const following = follow(
    address,
    { ...headers, 'last-event-id': seen.at(-1) ?? '' },
    (name) => name === 'last',
  )

  const hook = await endpoint((_, reply) => reply.end())
  const wanted = { name: 'all', url: hook.url, event_types: ['*'] }
  await fetch(`${address}/webhooks`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(wanted),
  })

  let isOver = false
  const { post, made, write, tidy } = client(address, headers)
  const writers = Array.from({ length: WRITERS }, (_, at) => write(`writer ${at}`, () => isOver))
  for (let kill = 1; kill <= KILLS; kill++) {
    // It serves, however busy the machine is; then a spread of moments, the same in every run.
    const before = made.length
    await expect.poll(() => made.length, { interval: 10 }).toBeGreaterThan(before + 2)
    await sleep(kill * 37)
    service.process.kill('SIGKILL')
    await service.ended
    ;({ service } = await serve(data, port))
  }
  isOver = true
  await Promise.all(writers)
  await tidy()
  expect((await post('last')).status).toBe(201)
  const { ids, cuts } = await following
  expect(cuts).toBeGreaterThanOrEqual(KILLS)
  // Only events sent when a process died came twice: each has its place by its first arrival.
  const sent = () => [...new Set(hook.received.map((one) => String(one.headers['webhook-id'])))]
  // One destination is sent ten a second.
  await expect.poll(() => sent().length).toBe(ids.length)
  expect(sent()).toEqual(ids)
  expect(hook.received.length).toBeLessThanOrEqual(ids.length + KILLS)
  service.process.kill('SIGKILL')
  await service.ended

  const db = openSqlite(path.join(data, 'berth.db'))
  const rows = await db.selectFrom('events').select('event_id').orderBy('position').execute()
  await db.destroy()
  expect(rows.length).toBeGreaterThan(20)
  expect([...seen, ...ids]).toEqual(rows.map((row) => row.event_id))
}, 900_000)
