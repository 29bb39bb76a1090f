import { mkdtempSync, rmSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { inspectImage } from './inspect.ts'
import { LocalImages } from './store.ts'
import { microImage, microSpec } from './test-image.ts'

const dir = mkdtempSync(path.join(os.tmpdir(), 'berth-build-'))
afterAll(() => rmSync(dir, { recursive: true }))

test('micro builds from the packages of this host', { timeout: 300_000 }, async () => {
  const image = await microImage(dir)
  expect(path.dirname(image.disk)).toBe(path.join(dir, 'images', image.id))
  expect(await inspectImage(image.disk)).toEqual({
    format: 'qcow2',
    virtualSizeBytes: image.virtualSizeBytes,
  })
  expect(image.virtualSizeBytes).toBeLessThan(100 * 2 ** 20)
  expect(statSync(image.disk).size).toBeLessThan(30 * 2 ** 20)
  expect(image.direct).toMatchObject({
    kernel: path.join(dir, 'images', image.id, 'vmlinuz'),
    initrd: path.join(dir, 'images', image.id, 'initrd.img'),
    append: expect.stringMatching(/root=\/dev\/vda1 .*no_timer_check/),
  })
  const store = new LocalImages({ dataDir: dir })
  expect(await store.ready(microSpec)).toEqual(image)
  await store.close()
})
