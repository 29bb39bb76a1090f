import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseCatalog } from '../../api/catalog/file.ts'
import { bootableIso } from '../../api/drivers/test-iso.ts'
import { make } from '../api/harness/ordering.ts'
import { catalogText } from '../harness/app.ts'
import { launch } from './chromium.ts'
import { serveConsole } from './console.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

test('a file is uploaded as an image, and a file that is not an image is refused with the reason', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  const dialog = page.getByRole('dialog')
  const upload = async (name: string, buffer: Buffer) => {
    await page.getByRole('button', { name: 'New image' }).click()
    await dialog.getByLabel('Made from').selectOption('A file of this computer')
    await dialog.getByLabel('File', { exact: true }).setInputFiles({ name, mimeType: '', buffer })
    await dialog.getByRole('button', { name: 'Upload' }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  const disk = Buffer.alloc(5 * 2 ** 20)
  disk.writeUInt16BE(0x55aa, 510)
  await page.goto(new URL('/images', page.url()).href)
  await upload('own.img', disk)
  await page.getByText('Available').waitFor()
  await upload('page.img', Buffer.from('<html>'.repeat(100)))
  await page.getByText(/The file is not a disk image/).waitFor()
})

test('an uploaded or offered ISO is inserted into the drive of a server and ejected', async () => {
  const offered = 'isos: [{ slug: alpine, title: Alpine Linux, file: /srv/alpine.iso }]'
  const t = await serveConsole({ catalog: parseCatalog(`${catalogText}\n${offered}\n`, 'catalog.yaml') })
  const server = await make(t, { name: 'web-1' })
  const page = await t.open(browser)
  const dialog = page.getByRole('dialog')
  await page.goto(new URL('/isos', page.url()).href)
  await page.getByRole('button', { name: 'New ISO' }).click()
  const file = { name: 'debian.iso', mimeType: '', buffer: bootableIso('An installer') }
  await dialog.getByLabel('File', { exact: true }).setInputFiles(file)
  await dialog.getByRole('button', { name: 'Upload' }).click()
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(() => page.getByText('Available').count()).toBe(2)
  expect(await page.getByRole('row').filter({ hasText: 'Alpine Linux' }).getByRole('button').count()).toBe(0)
  expect(await page.getByRole('row').filter({ hasText: 'debian.iso' }).getByRole('button').count()).toBe(1)
  const drive = page.getByRole('region', { name: 'Drive' })
  for (const [title, isIn] of [
    ['debian.iso', true],
    ['Alpine Linux (the operator’s)', true],
    ['None', false],
  ] as const) {
    await page.goto(new URL(`/servers/${server}/settings`, page.url()).href)
    await drive.getByLabel('ISO').selectOption(title)
    await drive.getByRole('button', { name: 'Change' }).click()
    await expect.poll(() => t.driver.isoOf(server) !== null).toBe(isIn)
    await expect.poll(() => drive.getByRole('button', { name: 'Change' }).isDisabled()).toBe(true)
  }
})
