import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { folder, order, run, type Service, serve } from './harness/berthd.ts'

const BERTH_PASSPHRASE = 'correct horse battery'

/** Waits until an operation has ended. */
async function ended(service: Service, operationId: string): Promise<void> {
  const look = async () => (await service.call('GET', `/operations/${operationId}?wait=10`)).body.status
  await expect.poll(look).toBe('succeeded')
}

/** Takes a snapshot. @returns its id */
async function copyOf(service: Service, server_id: string): Promise<string> {
  const { body } = await service.call('POST', '/snapshots', { server_id })
  await ended(service, body.operation_id)
  return body.snapshot_id
}

const statusOf = async (service: Service, id: string) =>
  (await service.call('GET', `/servers/${id}`)).body.status

test('servers of a lost data folder are brought back by one command, from a backup and the copies off site', async () => {
  const place = folder()
  const at = (name: string) => path.join(place, name)
  mkdirSync(at('offsite'))
  const env = { BERTH_OFFSITE: at('offsite'), BERTH_COMPUTE: 'simulator' }
  const before = await serve(at('data'), env)
  const make = async (name: string): Promise<string> => {
    const { body } = await before.call('POST', '/servers', { ...(await order(before)), name })
    await ended(before, body.current_operation.operation_id)
    return body.server_id
  }
  const [web, off, bare] = [await make('web'), await make('off'), await make('bare')]
  const volume = { name: 'data', size_gb: 1, zone_slug: 'local-1' }
  const { body: data } = await before.call('POST', '/volumes', volume)
  const attached = await before.call('POST', `/volumes/${data.volume_id}/attach`, { server_id: web })
  await ended(before, attached.body.operation_id)
  await ended(before, (await before.call('POST', `/servers/${off}/stop`)).body.operation_id)
  const copies = [await copyOf(before, web), await copyOf(before, off)]
  const keys = async (service: Service) =>
    (await service.call('GET', `/servers/${web}/details`)).body.host_keys
  const known = await keys(before)
  await expect.poll(() => copies.every((id) => existsSync(at(`offsite/${id}/copy.json.age`)))).toBe(true)
  const backedUp = { BERTH_DATA: at('data'), BERTH_PASSPHRASE }
  expect(await run(['backup', at('backup.tar')], backedUp)).toMatchObject({ code: 0 })
  before.process.kill('SIGTERM')
  await before.ended
  rmSync(at('data'), { recursive: true })

  const restored = { BERTH_DATA: at('restored'), BERTH_PASSPHRASE }
  expect(await run(['restore', at('backup.tar')], restored)).toMatchObject({ code: 0 })
  const after = await serve(at('restored'), env)
  const check = () => run(['disk', 'check'], { ...env, BERTH_DATA: at('restored') })
  const lost = await check()
  expect(lost).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was changed') })
  for (const id of [web, off, bare]) expect(lost.stdout).toMatch(new RegExp(`server +${id} .* missing\n`))
  for (const id of copies) expect(lost.stdout).toMatch(new RegExp(`copy +${id} .* only off site\n`))
  const rebuilt = await run(['host', 'rebuild'], { ...env, BERTH_DATA: at('restored') })
  expect(rebuilt).toMatchObject({ code: 0, stderr: '' })
  expect(rebuilt.stdout).toMatch(new RegExp(`${web} .* restoring\n`))
  expect(rebuilt.stdout).toMatch(new RegExp(`${bare} .* lost: it has no copy\n`))
  await expect.poll(() => statusOf(after, web)).toBe('running')
  await expect.poll(() => statusOf(after, off)).toBe('stopped')
  expect(await keys(after)).toEqual(known)
  expect((await after.call('GET', `/volumes/${data.volume_id}`)).body).toMatchObject({ server_id: null })
  expect(await statusOf(after, bare)).toBe('error')
  const again = await run(['host', 'rebuild'], { ...env, BERTH_DATA: at('restored') })
  expect(again.stdout).not.toContain('restoring')
  expect(readdirSync(at('offsite')).sort()).toEqual(copies.sort())
  mkdirSync(at('offsite/stranger'))
  const rest = (await check()).stdout.split('\n').filter((line) => line.includes(' '))
  expect(rest.slice(1)).toEqual([
    expect.stringMatching(new RegExp(`server +${bare} .* missing$`)),
    expect.stringMatching(new RegExp(`volume +${data.volume_id} .* missing$`)),
    expect.stringMatching(/copy off site +stranger +orphaned$/),
  ])
  expect(existsSync(at('offsite/stranger'))).toBe(true)
})
