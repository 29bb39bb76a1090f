import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testApp } from '../harness/app.ts'
import { launch } from './chromium.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

/** A page that can reach only this service; its requests to others are recorded. */
async function closedPage(address: string): Promise<{ page: Page; refused: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } })
  const refused: string[] = []
  await page.route('**/*', (route) => {
    const url = route.request().url()
    if (url.startsWith(address) || url.startsWith('data:') || url.startsWith('blob:')) return route.continue()
    refused.push(url)
    return route.abort()
  })
  return { page, refused }
}

test('the viewer works without any other host: it renders, accepts a token, sends a request and shows the reply', async () => {
  const t = await testApp()
  const address = await t.app.http.listen({ port: 0, host: '127.0.0.1' })
  const { page, refused } = await closedPage(address)
  const blocked: string[] = []
  page.on('console', (line) => {
    if (line.text().includes('Content Security Policy')) blocked.push(line.text())
  })
  await page.goto(`${address}/v1/docs`)
  await page.getByRole('heading', { name: 'Berth', exact: true }).first().waitFor()
  expect(await page.title()).toBe('Berth API')
  await page.goto(`${address}/v1/docs#tag/catalogue/GET/zones`)
  const tryIt = page.getByRole('button', { name: /Test Request/i }).first()
  await tryIt.click()
  const client = page.getByRole('dialog')
  await client.getByRole('button', { name: /^Authentication/ }).click()
  await client.getByPlaceholder('Token').fill(await t.makeToken(['read']))
  const asked = page.waitForResponse((reply) => reply.url() === `${address}/v1/zones`)
  await client.getByRole('button', { name: /^Send/i }).first().click()
  const reply = await asked
  expect(reply.status()).toBe(200)
  expect(reply.request().headers().authorization).toMatch(/^Bearer berth_/)
  await client.getByText('local-1').first().waitFor()
  expect(refused).toEqual([])
  expect(blocked).toEqual([])
})
