import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Reply } from '../harness/app.ts'
import { folder } from './harness/berthd.ts'
import { listening, ROOT, startShell } from './harness/child.ts'

const MEGABYTE = Buffer.alloc(2 ** 20)
const unshare = process.getuid?.() === 0 ? 'unshare -m' : 'unshare -rm'

/** Serves on a disk of 24 MB, which only the service sees. */
async function serveOnSmallDisk() {
  const data = folder()
  const mount = `mount -t tmpfs -o size=24m none '${data}'`
  const program = `exec '${process.execPath}' '${path.join(ROOT, 'api/main.ts')}' serve`
  const settings = { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', PORT: '0', BERTH_METRICS: '127.0.0.1:0' }
  const child = startShell(`exec ${unshare} sh -c "${mount} && ${program}"`, 'api/main.ts', '', settings)
  onTestFinished(async () => {
    child.process.kill('SIGKILL')
    await child.ended
  })
  const { address, metrics } = await listening(child)
  const inside = path.join(`/proc/${child.process.pid}/root`, data)
  const token = execFileSync('cat', [path.join(inside, 'demo-token')], { encoding: 'utf8' }).trim()
  const call = async (
    method: string,
    url: string,
    body?: unknown,
  ): Promise<Pick<Reply, 'status' | 'body'>> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const reply = await fetch(`${address}${url}`, { method, headers, body: JSON.stringify(body) ?? null })
    return { status: reply.status, body: await reply.json() }
  }
  return { child, inside, address, metrics: String(metrics), call }
}

/** Writes into a file until the disk is full. */
function fill(file: string): void {
  const filler = openSync(file, 'w')
  try {
    for (let bytes = MEGABYTE.length; bytes >= 1; )
      try {
        writeSync(filler, MEGABYTE, 0, bytes)
      } catch {
        bytes = Math.floor(bytes / 2)
      }
  } finally {
    closeSync(filler)
  }
}

test('a full disk is one error in the log that says what to do, and everything continues once there is room', async () => {
  const { child, inside, address, metrics, call } = await serveOnSmallDisk()
  const wanted = { zone_slug: 'local-1', cpu_type: 'amd', template: 'micro', preset: 'nano' }
  const order = () => call('POST', '/servers', { plan_type: 'preset', ...wanted })
  const id = (await order()).body.server_id
  fill(path.join(inside, 'filler'))
  const refused = await order()
  expect(refused).toMatchObject({ status: 503, body: { code: 'backend_unavailable' } })
  expect(refused.body.detail).toContain('the disk of the service is full')
  for (let more = 0; more < 20; more++) expect((await order()).status).toBe(503)
  expect((await call('GET', `/servers/${id}`)).status).toBe(200)
  const ready = await fetch(new URL('/readyz', address))
  expect([ready.status, await ready.json()]).toMatchObject([
    200,
    { status: 'degraded', checks: { disk: 'full' } },
  ])
  expect(await (await fetch(metrics)).text()).toMatch(/^berth_disk_full 1$/m)
  rmSync(path.join(inside, 'filler'))
  const next = await order()
  expect(next.status).toBe(202)
  for (const wait of [id, next.body.server_id])
    await expect.poll(async () => (await call('GET', `/servers/${wait}`)).body.status).toBe('running')
  const errors = child.stderr.split('\n').filter((line) => line.includes('"level":50'))
  expect(errors).toHaveLength(1)
  expect(errors[0]).toContain('docs/operating/trouble.md')
})
