import { expect, test } from 'vitest'
import { addMember } from '../../api/people/membership/members.ts'
import { createPerson, updatePerson } from '../../api/people/person/people.ts'
import type { TestApp } from '../harness/app.ts'
import { signUp } from './harness/browser.ts'
import { refuse } from './harness/faults.ts'
import { issues, make, NOBODY } from './harness/ordering.ts'
import { makeOperatorToken, withShop } from './operator/harness/shop.ts'

const HOUR_MS = 3600_000
const path = '/operator/announcements'
const text = { en: 'The switches are replaced.', ru: 'В зоне меняют коммутаторы.' }
const maintenance = { kind: 'maintenance', text, zones: ['local-1'] }

const later = (t: TestApp, hours: number) => new Date(t.clock.now() + hours * HOUR_MS).toISOString()
const idsOf = async (call: TestApp['call']) =>
  (await call('GET', '/announcements')).body.items.map(
    (one: { announcement_id: string }) => one.announcement_id,
  )

test('customers see announcements of zones where they have servers, and of all zones, until they end', async () => {
  const { t, shop } = await withShop()
  const bare = t.callAs(await t.makeToken(['read'], { accountId: await t.makeAccount() }))
  await make(t)
  const times = { starts_at: later(t, 48), ends_at: later(t, 50) }
  const { body: planned } = await shop('POST', path, { ...maintenance, ...times })
  expect(planned).toMatchObject({ ...maintenance, ...times, ended_at: null, mailed_at: null })
  const { body: news } = await shop('POST', path, { kind: 'notice', text })
  expect(news).toMatchObject({ zones: [], starts_at: later(t, 0), ends_at: null })
  expect(await idsOf(t.call)).toEqual([news.announcement_id, planned.announcement_id])
  expect(await idsOf(bare)).toEqual([news.announcement_id])
  const { mailed_at, ended_at, ...seen } = planned
  const paged = (await t.call('GET', '/announcements?limit=1&offset=1')).body
  expect(paged).toEqual({ items: [seen], total: 2 })

  const one = `${path}/${planned.announcement_id}`
  const changed = await shop('PATCH', one, { text: { en: 'An hour later.', ru: 'Часом позже.' } })
  expect(changed.body).toMatchObject({ text: { en: 'An hour later.' }, ...times })
  await shop('POST', `${path}/${news.announcement_id}/end`)
  expect(await idsOf(t.call)).toEqual([planned.announcement_id])
  t.clock.advance(50 * HOUR_MS)
  expect(await idsOf(t.call)).toEqual([])
  const { value } = await makeOperatorToken(t, ['operator:read', 'operator:write'])
  const again = t.callAs(value)
  expect((await again('GET', one)).body.ended_at).toBe(times.ends_at)
  // The work takes longer than planned.
  const { body: open } = await again('PATCH', one, { ends_at: null })
  expect([open.ended_at, await idsOf(t.call)]).toEqual([null, [planned.announcement_id]])
  const { body: ended } = await again('POST', `${one}/end`)
  expect((await again('POST', `${one}/end`)).body).toEqual(ended)
  expect(ended.ended_at).toBe(later(t, 0))
  expect((await again('GET', path)).body).toMatchObject({
    items: [{ announcement_id: news.announcement_id }, ended],
    total: 2,
  })
  const refused = await again('PATCH', one, { ends_at: later(t, 1) })
  expect([refused.status, refused.body.code]).toEqual([409, 'announcement_ended'])
})

test('an announcement has sound times, known zones and short texts, and at most 20 are open', async () => {
  const { t, shop } = await withShop()
  const wrong = async (more: object) => issues((await shop('POST', path, { ...maintenance, ...more })).body)
  expect(await wrong({ zones: ['mars-1'] })).toEqual([['/zones', 'not_found']])
  expect(await wrong({ starts_at: later(t, 2), ends_at: later(t, 1) })).toEqual([
    ['/ends_at', 'below_minimum'],
  ])
  expect(await wrong({ starts_at: later(t, -2), ends_at: later(t, -1) })).toEqual([
    ['/ends_at', 'below_minimum'],
  ])
  expect(await wrong({ starts_at: '2026-12-31T23:59:60Z' })).toEqual([['/starts_at', 'invalid_format']])
  expect(await wrong({ text: { en: 'x'.repeat(1001), ru: text.ru } })).toEqual([['/text/en', 'too_long']])
  expect((await wrong({ text: { en: text.en } }))[0]?.[0]).toBe('/text/ru')
  const missing = await shop('PATCH', `${path}/${NOBODY}`, { kind: 'notice' })
  expect([missing.status, missing.body.code]).toEqual([404, 'announcement_not_found'])

  const all = await Promise.all(
    Array.from({ length: 22 }, (_, n) => shop('POST', path, { ...maintenance, ends_at: later(t, n + 1) })),
  )
  const refused = all.filter(({ status }) => status === 409)
  expect(refused.map(({ body }) => body.code)).toEqual(['too_many_announcements', 'too_many_announcements'])
  const { announcement_id } = all.find(({ status }) => status === 201)?.body ?? {}
  await shop('POST', `${path}/${announcement_id}/end`)
  const incident = { kind: 'incident', text }
  const first = await shop('POST', path, incident)
  const repeat = await shop('POST', path, incident)
  expect([first.status, repeat.status, repeat.body]).toEqual([201, 200, first.body])
  expect((await shop('PATCH', `${path}/${first.body.announcement_id}`, { kind: 'notice' })).status).toBe(200)
  t.clock.advance(366 * 24 * HOUR_MS)
  await t.app.retention.look()
  const left = await t.db.selectFrom('announcements').select('announcement_id').execute()
  // It lasts until it is ended; all others ended more than a year ago.
  expect(left).toEqual([{ announcement_id: first.body.announcement_id }])
})

/** Lets the service mail what is due. @returns recipients and subjects, in order */
async function mailed(t: TestApp): Promise<string[]> {
  const before = t.mails.length
  for (let round = 0; round < 4; round++) await t.app.billing.look()
  for (let round = 0; round < 10; round++) await t.app.mails.look()
  return t.mails.slice(before).map(({ to, subject }) => `${to}: ${subject}`)
}

test('owners get one mail in their language, unless they muted such mails', async () => {
  const { t, shop } = await withShop()
  const join = async (
    email: string,
    role: 'owner' | 'admin',
    language: 'en' | 'ru',
    accountId = t.accountId,
  ) => {
    const made = await createPerson(t.db, t.clock, { email, name: 'X', language, password: null })
    await addMember(t.db, t.clock, { accountId, personId: made?.person_id ?? '', role })
    return made?.person_id ?? ''
  }
  const boris = await join('boris@example.com', 'owner', 'ru')
  await addMember(t.db, t.clock, { accountId: await t.makeAccount(), personId: boris, role: 'owner' })
  await join('admin@example.com', 'admin', 'en')
  await t.makeAccount()
  const { call } = await signUp(t, 'muted@example.com')
  expect((await call('GET', '/person')).body.muted_mails).toEqual([])
  const muted = await call('PATCH', '/person', { muted_mails: ['announcements'] })
  expect([muted.status, muted.body.muted_mails]).toEqual([200, ['announcements']])
  expect((await call('PATCH', '/person', { muted_mails: ['security'] })).status).toBe(422)
  await mailed(t)

  await shop('POST', path, { kind: 'notice', text })
  expect(await mailed(t)).toEqual([
    'boris@example.com: Новости localhost',
    'customer3@example.com: News of localhost',
  ])
  expect(await mailed(t)).toEqual([])
  expect((await shop('GET', path)).body.items[0].mailed_at).toBe(later(t, 0))

  await make(t)
  await shop('POST', path, { ...maintenance, ends_at: later(t, 2) })
  expect(await mailed(t)).toEqual(['boris@example.com: Технические работы на localhost'])
  expect(t.mails.at(-1)?.text).toMatch(
    /^В зоне меняют коммутаторы\.\n\nНачало: .* Окончание: .* Зоны: This machine\./,
  )

  await updatePerson(t.db, boris, { language: 'en' })
  const { body: over } = await shop('POST', path, { kind: 'incident', text })
  await shop('POST', `${path}/${over.announcement_id}/end`)
  expect(await mailed(t)).toEqual([])
})

test('many owners are mailed in parts, each once, and the queue keeps room for sign-in links', async () => {
  const { t, shop } = await withShop()
  await t.db.updateTable('accounts').set({ email: 'closed@example.com', status: 'closed' }).execute()
  for (let n = 0; n < 250; n++)
    await createPerson(t.db, t.clock, {
      email: `p${n}@example.com`,
      name: 'X',
      language: 'en',
      password: null,
    })
  const people = await t.db.selectFrom('people').select('person_id').execute()
  const accountId = await t.makeAccount()
  for (const { person_id: personId } of people)
    await addMember(t.db, t.clock, { accountId, personId, role: 'owner' })
  await shop('POST', path, { kind: 'incident', text })
  const waiting = () => t.db.selectFrom('mails').select('mail_id').execute()
  const counts: number[] = []
  for (let round = 0; round < 5; round++) {
    await t.app.billing.look()
    counts.push((await waiting()).length)
  }
  expect(counts).toEqual([100, 200, 250, 250, 250])
  for (let round = 0; round < 15; round++) await t.app.mails.look()
  expect(new Set(t.mails.map(({ to }) => to)).size).toBe(250)
  expect(t.mails.length).toBe(250)
})

test('an announcement that cannot be mailed keeps no other from it', async () => {
  const { t, shop } = await withShop()
  const { body: broken } = await shop('POST', path, { kind: 'notice', text })
  await refuse(t.db, 'UPDATE ON announcements', `OLD.announcement_id = '${broken.announcement_id}'`)
  t.clock.advance(1)
  const { body: other } = await shop('POST', path, { kind: 'notice', text: { ...text, en: 'Other.' } })
  for (let round = 0; round < 2; round++) await t.app.billing.look()
  const mailedAt = async (id: string) => (await shop('GET', `${path}/${id}`)).body.mailed_at
  expect([await mailedAt(broken.announcement_id), await mailedAt(other.announcement_id)]).toEqual([
    null,
    later(t, 0),
  ])
})
