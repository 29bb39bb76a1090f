import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readCatalog } from '../catalog/file.ts'
import { LocalImages } from '../drivers/qemu/images/store.ts'
import { imageLines } from './banner.ts'

test('the banner says of each image that is not here when it will be', async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'berth-banner-'))
  const images = new LocalImages({ dataDir })
  onTestFinished(async () => {
    await images.close()
    rmSync(dataDir, { recursive: true })
  })
  const lines = await imageLines({ images }, readCatalog('catalog.yaml'))
  expect(lines).toContain('micro          being built in the background')
  expect(lines).toContain(
    'debian-12      downloaded on first use; built in the background if no download answers',
  )
  expect(lines).toContain('ubuntu-24.04   downloaded on first use')
})
