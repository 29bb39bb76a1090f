import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { make } from '../api/harness/ordering.ts'
import { launch } from './chromium.ts'
import { serveConsole } from './console.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

/** The colours in the middle of the picture's title and beside it. */
const colours = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const canvas = document.querySelector('.screen canvas')
    const at = (x, y) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3).join()
    return [at(400, 34), at(5, 5), at(42, 110)]
  })()`)

test('the screen is shown, accepts keys, a text and Ctrl+Alt+Del, and reconnects after a restart', async () => {
  const t = await serveConsole()
  const id = await make(t, { name: 'web-1' })
  const page = await t.open(browser)
  await page.goto(`${t.address}/servers/${id}`)
  await page.getByRole('link', { name: 'Screen' }).click()
  await page.getByText('Connected to the screen.').waitFor()
  await expect.poll(() => colours(page)).toEqual(['47,111,237', '11,13,16', '29,35,44'])
  await page.keyboard.type('ls')
  // Each key is a block on the picture.
  await expect.poll(async () => (await colours(page))[2]).toBe('88,214,141')
  await page.getByRole('button', { name: 'Type a text' }).click()
  await page.getByLabel('Text', { exact: true }).fill('A b!\nю')
  if (process.env.BERTH_PICTURES) await page.screenshot({ path: `${process.env.BERTH_PICTURES}/type.png` })
  await page.getByRole('button', { name: 'Type', exact: true }).click()
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  const keys = () =>
    t.driver.keysOf(id).map((key) => (key < 0x80 ? String.fromCharCode(key) : key.toString(16)))
  expect(keys()).toEqual(['l', 's', 'ffe1', 'A', ' ', 'b', 'ffe1', '!', 'ff0d'])
  await page.getByRole('button', { name: 'Ctrl+Alt+Del' }).click()
  await expect.poll(() => keys().slice(9)).toEqual(['ffe3', 'ffe9', 'ffff'])
  if (process.env.BERTH_PICTURES) await page.screenshot({ path: `${process.env.BERTH_PICTURES}/screen.png` })

  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await page.getByText('The server is off. Start it to see its screen.').waitFor()
  await t.call('POST', `/servers/${id}/start`)
  await page.getByText('Connected to the screen.').waitFor()
})
