import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Server, startPostgres } from '../harness/postgres.ts'
import { folder, serveOn } from './harness/berthd.ts'
import { twoAtATime } from './harness/child.ts'
import { cutter } from './harness/cutter.ts'

let postgres: Server
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.remove())

test('a process ends on SIGTERM though its database is silent, whatever its role', async () => {
  const stop = async (role: string) => {
    const link = await cutter(await postgres.create(`silent_${role}`))
    const service = await serveOn(link.url, folder(), { BERTH_ROLE: role, TEST_PATIENCE_MS: '120000' })
    link.part('is silent')
    // Its loops have begun to wait for replies by then.
    await sleep(1_000)
    service.process.kill('SIGTERM')
    expect(await service.ended, service.stderr).toEqual({ code: 0, signal: null })
  }
  await twoAtATime(['api', 'worker', 'all'].map((role) => () => stop(role)))
})
