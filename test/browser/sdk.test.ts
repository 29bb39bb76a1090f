import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { meanwhile, type Service, service } from '../sdk/harness/client.ts'
import { installedPackage } from '../sdk/harness/packed.ts'
import { launch } from './chromium.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

const PAGE = `<title>Test</title>
<script type="module">
  import * as sdk from '/sdk/index.js'
  globalThis.sdk = sdk
</script>`

/** A page at the service's own address that has imported the packed package. */
async function pageWithSdk({ baseUrl }: Service): Promise<Page> {
  const { installed } = installedPackage()
  const { origin } = new URL(baseUrl)
  const page = await browser.newPage()
  await page.route(`${origin}/`, (route) => route.fulfill({ contentType: 'text/html', body: PAGE }))
  await page.route(`${origin}/sdk/*`, (route) => {
    const name = path.basename(new URL(route.request().url()).pathname)
    return route.fulfill({
      contentType: 'text/javascript',
      body: readFileSync(path.join(installed, name), 'utf8'),
    })
  })
  await page.goto(`${origin}/`)
  return page
}

test('the packed client works in a page: it orders, waits, reads an error and hears of a lost service', async () => {
  const t = await service()
  const page = await pageWithSdk(t)
  const given = { token: t.token, order: await t.order() }
  const seen = page.evaluate(async ({ token, order }) => {
    const { Berth, isBerthError }: typeof import('../../sdk/index.ts') = Reflect.get(globalThis, 'sdk')
    const berth = new Berth({ baseUrl: '/v1', token, retries: 0 })
    const server = await berth.servers.create({ ...order, name: 'web-1' })
    const { status } = await berth.operations.wait(server)
    const names: string[] = []
    for await (const { name } of berth.servers.listAll()) names.push(name)
    const error = await berth.servers.get('none').catch((reason: unknown) => reason)
    const code = isBerthError(error) ? error.code : String(error)
    const nowhere = new Berth({ baseUrl: 'http://127.0.0.1:1', retries: 0 }).zones.list()
    const lost = await nowhere.catch((reason: unknown) => (reason instanceof Error ? reason.name : reason))
    return { status, names, code, lost }
  }, given)
  expect(await meanwhile(t, seen)).toEqual({
    status: 'succeeded',
    names: ['web-1'],
    code: 'server_not_found',
    lost: 'ConnectionError',
  })
})
