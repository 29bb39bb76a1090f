// The mail about a sign-in from a network or with a browser that the person had not used before.
import { expect, test } from 'vitest'
import { browserOf } from '../../../api/people/sign-in/new-places.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { openBrowser, PASSWORD, signUp } from '../harness/browser.ts'

const EMAIL = 'ann@example.com'
const DAY = 24 * 3600_000
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
const LATER_FIREFOX = FIREFOX.replaceAll('145', '146')
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36'

/** Signs in from a place. @returns the status, and the mails that it caused */
async function signIn(t: TestApp, address: string, userAgent: string, password = PASSWORD) {
  await t.app.mails.look()
  const before = t.mails.length
  const place = { 'x-forwarded-for': address, 'user-agent': userAgent }
  const reply = await openBrowser(t).call('POST', '/sign-in', { email: EMAIL, password }, place)
  await t.app.mails.look()
  return { status: reply.status, mails: t.mails.slice(before), reply }
}

/** The subjects of the mails that a sign-in from a place caused. */
const subjects = async (...place: Parameters<typeof signIn>) =>
  (await signIn(...place)).mails.map(({ subject }) => subject)

const NEW = ['A new sign-in at localhost']

/** A person who signed up long ago, and has signed in with Firefox at home since. */
async function known() {
  const t = await testApp({ trustProxy: ['127.0.0.1'] })
  await signUp(t, EMAIL)
  t.clock.advance(2 * DAY)
  expect(await subjects(t, '192.0.2.7', FIREFOX)).toEqual(NEW)
  return t
}

test('a sign-in from a new network or with a new browser is mailed once, with time, address and browser', async () => {
  const t = await known()
  expect(await subjects(t, '192.0.2.9', LATER_FIREFOX)).toEqual([])
  const { mails } = await signIn(t, '198.51.100.4', CHROME)
  expect(mails).toMatchObject([{ to: EMAIL, link: 'http://localhost/account/security' }])
  for (const fact of ['22 November 2026', '198.51.100.4', 'Chrome, Windows'])
    expect(mails[0]?.text).toContain(fact)
  expect(await subjects(t, '198.51.100.4', CHROME)).toEqual([])
  expect(await subjects(t, '192.0.2.7', CHROME)).toEqual([])
  expect(await subjects(t, '203.0.113.1', FIREFOX)).toEqual(NEW)
})

test('the first sign-in after signing up is not mailed, and neither are places known before the upgrade', async () => {
  const t = await testApp({ trustProxy: ['127.0.0.1'] })
  await signUp(t, EMAIL)
  expect(t.mails.map(({ subject }) => subject)).toEqual(['Finish signing up at localhost'])
  const place = { address: '192.0.2.7', user_agent: FIREFOX }
  await t.db.updateTable('sessions').set(place).execute()
  await t.db.updateTable('people').set({ places: '[]' }).execute()
  expect(await subjects(t, '192.0.2.7', FIREFOX)).toEqual([])
  await t.db.updateTable('people').set({ places: '[]' }).execute()
  expect(await subjects(t, '198.51.100.4', FIREFOX)).toEqual(NEW)
})

test('nobody without the password causes a mail, and nobody with it more than five a day', async () => {
  const t = await known()
  expect(await signIn(t, '203.0.113.1', CHROME, 'a wrong password')).toMatchObject({ status: 401, mails: [] })
  t.clock.advance(2 * DAY)
  let mailed = 0
  for (let network = 0; network < 30; network++)
    mailed += (await signIn(t, `10.0.${network}.1`, FIREFOX)).mails.length
  expect(mailed).toBe(5)
  // The places beyond these stay new, and the known ones known.
  t.clock.advance(2 * DAY)
  expect(await subjects(t, '10.0.29.1', FIREFOX)).toEqual(NEW)
  expect(await subjects(t, '192.0.2.7', FIREFOX)).toEqual([])
})

test('a mail names the browser in our own words, in the language of the person', async () => {
  const t = await known()
  await t.db.updateTable('people').set({ language: 'ru' }).execute()
  const { mails } = await signIn(t, '198.51.100.4', 'Click https://evil.example Linux')
  expect(mails).toMatchObject([{ subject: 'Новый вход на localhost' }])
  expect(mails[0]?.text).toContain('Браузер: Linux\n')
  expect(mails[0]?.text).not.toContain('evil')
  expect([browserOf('curl/8'), browserOf(CHROME), browserOf(FIREFOX)]).toEqual([
    '',
    'Chrome, Windows',
    'Firefox, Linux',
  ])
})
