import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { folder, order, run, type Service, serve } from './harness/berthd.ts'

const TIMEOUT_MS = 900_000

async function runningServer(service: Service): Promise<string> {
  const { server_id } = (await service.call('POST', '/servers', await order(service))).body
  await expect.poll(() => statusOf(service, server_id)).toBe('running')
  return server_id
}

const statusOf = async (service: Service, id: string) =>
  (await service.call('GET', `/servers/${id}`)).body.status

/** Gives what is in one pool to another, as if the installation had been so from the start. */
function rename(data: string, from: string, to: string): void {
  const db = new DatabaseSync(path.join(data, 'berth.db'))
  db.prepare('UPDATE servers SET pool = ? WHERE pool = ?').run(to, from)
  db.prepare('DELETE FROM pool_usage WHERE pool = ?').run(to)
  db.prepare('UPDATE pool_usage SET pool = ? WHERE pool = ?').run(to, from)
  db.close()
}

function poolsOf(data: string): Record<string, unknown> {
  const db = new DatabaseSync(path.join(data, 'berth.db'), { readOnly: true })
  const rows = db.prepare('SELECT server_id, pool FROM servers').all()
  db.close()
  return Object.fromEntries(rows.map((row) => [String(row.server_id), row.pool]))
}

async function stop(service: Service): Promise<void> {
  service.process.kill('SIGTERM')
  await service.ended
}

test(
  'where QEMU is gone, servers on it are neither simulated nor written down as lost',
  async () => {
    const data = folder()
    const first = await serve(data)
    const id = await runningServer(first)
    await stop(first)
    // The state that an earlier version left: the pool has no driver's name, and machines are where QEMU's are.
    rename(data, 'simulator', 'local')
    rmSync(path.join(data, 'simulator.json'))
    mkdirSync(path.join(data, 'vms', id), { recursive: true })

    // Where nothing is found, QEMU is not installed.
    const env = { BERTH_DATA: data, PATH: data, PORT: '0' }
    expect(await run(['serve'], { ...env, BERTH_COMPUTE: 'auto' })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^This installation has servers on QEMU, which can't be used\. QEMU is not installed\..* Or set BERTH_COMPUTE=simulator/,
      ),
    })
    const service = await serve(data, env)
    const other = await runningServer(service)
    expect(await statusOf(service, id)).toBe('running')
    expect(poolsOf(data)).toEqual({ [id]: 'qemu', [other]: 'simulator' })
    await stop(service)
  },
  TIMEOUT_MS,
)

test(
  'simulated servers of an earlier version stay simulated',
  async () => {
    const data = folder()
    const first = await serve(data)
    const id = await runningServer(first)
    await stop(first)
    rename(data, 'simulator', 'local')
    const service = await serve(data, { BERTH_COMPUTE: 'auto', PATH: data })
    const other = await runningServer(service)
    expect(await statusOf(service, id)).toBe('running')
    expect(poolsOf(data)).toEqual({ [id]: 'simulator', [other]: 'simulator' })
    expect((await service.call('DELETE', `/servers/${id}`)).status).toBe(202)
    await expect.poll(() => service.call('GET', `/servers/${id}`)).toMatchObject({ status: 404 })
  },
  TIMEOUT_MS,
)
