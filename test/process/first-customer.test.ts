// docs/operating/first-customer.md, followed on an empty folder: its settings, its catalogue, each of its commands.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { settings } from '../../api/settings.ts'
import { type PlayedProviders, playedProviders } from '../harness/payment-providers.ts'
import { folder, order, run, type Service, serve } from './harness/berthd.ts'

const CUSTOMER = 'you@example.com'
const SITE = 'https://cloud.example.com'
const page = readFileSync('docs/operating/first-customer.md', 'utf8')
/** The page's later commands are for an installation that serves, and for a customer. */
const [before = '', after = ''] = page.split('## 5. Open')

/** The commands of a part of the page, without their comments. */
function commandsOf(part: string): string[][] {
  const blocks = [...part.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block)
  const lines = blocks.flatMap((block) => block.match(/^berthd .+$/gm) ?? [])
  return lines.map((line) => {
    const words = line.replace(/\s+#.*$/, '').match(/"[^"]*"|\S+/g) ?? []
    return words.slice(1).map((word) => word.replaceAll('"', ''))
  })
}

/** The settings of the page; the bank, the mail server and the machines are played. */
function settingsOf(data: string, played: PlayedProviders): Record<string, string> {
  const [, file = ''] = /berth\.env <<'END'\n([\s\S]*?)^END/m.exec(page) ?? []
  const given = Object.fromEntries(
    file
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const known: string[] = Object.values(settings).map(({ env }) => env)
  expect(Object.keys(given).filter((name) => !known.includes(name))).toEqual([])
  expect(given.BERTH_YOOKASSA).toBe('file:/etc/berth/yookassa')
  const secret = path.join(folder(), 'yookassa')
  writeFileSync(secret, played.urls.yookassa.href)
  const { BERTH_SMTP: _, ...kept } = given
  const own = { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', BERTH_GUEST_HOST: '127.0.0.1' }
  return { ...kept, ...own, BERTH_YOOKASSA: `file:${secret}` }
}

/** A customer's browser, behind the proxy of the page. */
function openBrowser({ address }: Service) {
  let cookie = ''
  return async (method: string, url: string, body?: object) => {
    const reply = await fetch(`${address}${url}`, {
      method,
      headers: {
        ...{ origin: SITE, cookie, 'x-forwarded-proto': 'https', 'x-forwarded-host': new URL(SITE).host },
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    cookie = reply.headers.get('set-cookie')?.split(';')[0] ?? cookie
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? null : JSON.parse(text) }
  }
}

/** The secret of the link in the mail to the customer. */
async function linkIn(data: string): Promise<string> {
  const mails = path.join(data, 'mail')
  const secret = () => {
    const texts = readdirSync(mails).map((name) => readFileSync(path.join(mails, name), 'utf8'))
    const mail = texts.find((text) => text.includes(CUSTOMER)) ?? ''
    return /^X-Link: \S+#(\S+)/m.exec(mail)?.[1] ?? ''
  }
  await expect.poll(secret, { timeout: 120_000 }).not.toBe('')
  return secret()
}

/** The customer signs up, pays by card, and orders. @returns the id of the payment */
async function buy(service: Service, data: string, played: PlayedProviders): Promise<string> {
  const call = openBrowser(service)
  expect((await call('POST', '/sign-up', { email: CUSTOMER })).status).toBe(204)
  const { operator } = (await call('GET', '/sign-in/options')).body
  const person = { name: 'You', password: 'seven brown boats', accepted_terms: operator.terms.version }
  const signedUp = await call('POST', '/sign-up/complete', { token: await linkIn(data), ...person })
  expect(signedUp).toMatchObject({ status: 200, body: { is_signed_in: true } })

  const started = await call('POST', '/account/payments', { amount_rub: '500' })
  expect(started).toMatchObject({ status: 201, body: { provider: 'yookassa', status: 'pending' } })
  expect(played.last.sent.receipt).toMatchObject({ customer: { email: CUSTOMER } })
  const { payment_id, url } = started.body
  await fetch(url, { method: 'POST', redirect: 'manual' })
  const payment = async () => (await call('GET', `/account/payments/${payment_id}`)).body.status
  await expect.poll(payment, { timeout: 120_000 }).toBe('succeeded')

  const wanted = await order({
    ...service,
    call: (method, path_, body) => call(method, path_, body as object),
  })
  const { status, body } = await call('POST', '/servers', { ...wanted, name: 'web-1' })
  expect(status).toBe(202)
  const server = async () => (await call('GET', `/servers/${body.server_id}`)).body.status
  await expect.poll(server, { timeout: 120_000 }).toBe('running')
  return payment_id
}

test('the page leads from an empty folder to a customer who has paid and has a server', async () => {
  const played = await playedProviders()
  const data = path.join(folder(), 'berth')
  mkdirSync(data, { mode: 0o700 })
  const env = settingsOf(data, played)
  const [, operator = ''] = /^```yaml\n([\s\S]*?)^```/m.exec(page) ?? []
  writeFileSync(path.join(data, 'catalog.yaml'), `${readFileSync('catalog.yaml', 'utf8')}\n${operator}`)
  for (const words of commandsOf(before)) {
    const { code, stdout, stderr } = await run(words, env)
    expect([words, code, stderr]).toEqual([words, 0, expect.anything()])
    if (words[1] === 'add') expect(stdout).toContain(`${SITE}/sign-in#`)
  }
  const service = await serve(data, { ...env, TOKEN: 'none' })
  await buy(service, data, played)
  const { stdout: shown } = await run(['account', 'show', CUSTOMER], env)
  expect(shown).toMatch(/^paid: +500\.00 RUB$/m)
  expect((await run(['account', 'list'], env)).stdout).not.toContain('demo@berth.local')
  for (const words of commandsOf(after)) {
    // A simulator is no wall, and has neither this name nor a certificate.
    const mayFail = ['check', 'doctor'].includes(words[0] ?? '')
    // The image of a distribution is built for minutes.
    const { code, stderr } = await run(words[0] === 'image' ? ['image', 'pull', '--help'] : words, env)
    expect([words, mayFail && code === 1 ? 0 : code, stderr]).toEqual([words, 0, expect.anything()])
  }
}, 900_000)
