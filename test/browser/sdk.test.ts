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

/** Chromium can't tell that a test's page belongs to this machine, and would block its requests to the service. */
const context = { permissions: ['local-network-access'] }

/** A page of the service's origin that has imported the packed package. */
async function pageWithSdk({ baseUrl }: Service): Promise<Page> {
  const { installed } = installedPackage()
  const { origin } = new URL(baseUrl)
  const page = await browser.newPage(context)
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

test('the packed client works in a page: it orders, waits, reads an error and notices a lost service', async () => {
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

test('a console works in a page of the service, but not in a page of another origin', async () => {
  const t = await service()
  const { server_id } = await t.make('web-1')
  const page = await pageWithSdk(t)
  const shown = await page.evaluate(
    async ({ token, server_id }) => {
      const { Berth }: typeof import('../../sdk/index.ts') = Reflect.get(globalThis, 'sdk')
      const console = await new Berth({ baseUrl: '/v1', token }).servers.console(server_id)
      console.write('echo hello\r')
      let text = ''
      for await (const bytes of console) {
        text += new TextDecoder().decode(bytes)
        if (text.includes('\nhello')) break
      }
      return text
    },
    { token: t.token, server_id },
  )
  expect(shown).toContain('Simulated Linux on web-1')
  const { ticket } = (await t.call('POST', `/servers/${server_id}/console`, {})).body
  const evil = await browser.newPage(context)
  await evil.route('http://evil.example/', (route) => route.fulfill({ contentType: 'text/html', body: PAGE }))
  await evil.goto('http://evil.example/')
  const url = `${t.baseUrl.replace('http', 'ws')}/console`
  const happened = await evil.evaluate(
    ({ url, ticket }) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(url, ['berth.console.v1', ticket])
        socket.addEventListener('open', () => resolve('opened'))
        socket.addEventListener('error', () => resolve('refused'))
      }),
    { url, ticket },
  )
  expect(happened).toBe('refused')
})
