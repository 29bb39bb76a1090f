import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { DriverError } from '../../api/drivers/driver.ts'
import { service } from './harness/client.ts'

test('an upload goes on where it ended, in parts that grow, whatever breaks off', async () => {
  const t = await service()
  const disk = randomBytes(12 * 2 ** 20)
  disk.writeUInt16BE(0x55aa, 510)
  const { zone_slug } = await t.order()
  const begun = { name: 'own', upload: true, content_bytes: disk.length, zone_slug }
  const { image_id } = await t.berth.images.create(begun)
  const seen: number[] = []
  const stop = new AbortController()
  const file = new Blob([disk])
  const first = t.berth.images.upload(image_id, file, {
    signal: stop.signal,
    onProgress: (arrived) => {
      seen.push(arrived)
      if (arrived > 0) stop.abort(new Error('enough'))
    },
  })
  await expect(first).rejects.toThrow('enough')
  for (const code of ['disk_full', 'unavailable', 'not_found'] as const)
    t.driver.failNext('receive', new DriverError(code, 'away'))
  await t.berth.images.upload(image_id, file, { onProgress: (arrived) => seen.push(arrived) })
  expect(seen.slice(0, 3)).toEqual([0, 2 ** 20, 2 ** 20])
  expect(seen.at(-1)).toBe(disk.length)
  expect(seen.length).toBeLessThan(12)
  const sent = await t.berth.images.import(image_id)
  await t.finish()
  expect(sent.status).toBe('importing')
  expect((await t.berth.images.get(image_id)).status).toBe('available')
})
