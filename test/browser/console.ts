import type { Browser, BrowserContext, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { readPages } from '../../api/http/server/pages.ts'
import { addMember } from '../../api/people/membership/members.ts'
import { createLink } from '../../api/people/person/links.ts'
import { createPerson } from '../../api/people/person/people.ts'
import { type TestApp, testApp } from '../harness/app.ts'

export interface Console extends TestApp {
  address: string
  /** The same address by its name, which passkeys require. */
  site: string
  /** A signed-in page, whose reported errors fail its test. */
  open(browser: Browser, options?: Parameters<Browser['newContext']>[0], from?: string): Promise<Page>
}

/** The built console, served by the real service, whose clock advances by itself. */
export async function serveConsole(options: Parameters<typeof testApp>[0] = {}): Promise<Console> {
  const pages = readPages('console/dist')
  if (!pages) throw new Error('The console is not built: run node setup.mjs')
  let site = ''
  let opened = 0
  const t = await testApp({ pages, siteUrl: () => site, ...options })
  const address = await t.app.http.listen({ port: 0, host: '127.0.0.1' })
  // Passkeys require a host name.
  site = `http://localhost:${new URL(address).port}`
  t.app.events.start()
  const timer = setInterval(() => {
    t.clock.advance(200)
    void t.work().catch(() => {})
  }, 50)
  onTestFinished(() => clearInterval(timer))
  return {
    ...t,
    address,
    site,
    open: (browser, options, from = address) => {
      opened += 1
      return openPage(
        t,
        from,
        { browser, email: `ann.lee${opened === 1 ? '' : opened}@example.com` },
        options,
      )
    },
  }
}

async function openPage(
  { db, clock, accountId }: TestApp,
  address: string,
  { browser, email }: { browser: Browser; email: string },
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Page> {
  const person = await createPerson(db, clock, { email, name: 'Ann', language: 'en', password: null })
  if (!person) throw new Error('the address is taken')
  await addMember(db, clock, { accountId, personId: person.person_id, role: 'owner' })
  const secret = await createLink(db, clock, {
    purpose: 'sign_in',
    email,
    person_id: person.person_id,
    language: 'en',
  })
  const context: BrowserContext = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-US',
    ...options,
  })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('requestfailed', (request) => faults.push(`${request.url()}: ${request.failure()?.errorText}`))
  page.on(
    'response',
    (reply) => void (reply.status() >= 400 && faults.push(`${reply.url()}: ${reply.status()}`)),
  )
  await page.goto(`${address}/sign-in#${secret}`)
  const overview = page.getByRole('heading', { name: /Overview|Обзор/ })
  await overview.waitFor().catch(async (error: unknown) => {
    const shown = await page.locator('body').textContent()
    throw new Error(`${page.url()} shows "${shown}" after ${faults.join(', ') || 'no fault'}`, {
      cause: error,
    })
  })
  return page
}

/** Makes the signed-in person an operator of the installation. */
export async function makeOperator({ db }: Pick<TestApp, 'db'>, page: Page): Promise<void> {
  const people = await db.updateTable('people').set({ is_operator: 1 }).returning('person_id').execute()
  const app = { secret: '', enabled_at: 1, last_step: 0, created_at: 1 }
  await db
    .insertInto('two_factors')
    .values(people.map((person) => ({ ...person, ...app })))
    .execute()
  await page.reload()
  await page.getByRole('link', { name: 'Capacity' }).waitFor()
}
