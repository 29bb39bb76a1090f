// Complaints: an operator opens a case with a deadline, the customer sees and answers it, and both read the end.
import { expect, test } from 'vitest'
import { addMember } from '../../../api/people/membership/members.ts'
import { createPerson } from '../../../api/people/person/people.ts'
import type { TestApp } from '../../harness/app.ts'
import { issues, make, NOBODY } from '../harness/ordering.ts'
import { DAY_MS, makeOperatorToken, withShop } from './harness/shop.ts'

const HOUR_MS = 3600_000
const own = '/account/complaints'
const all = '/operator/complaints'
const body = { kind: 'spam', text: 'A mailbox got spam.\nSee the headers.' }
const later = (t: TestApp, hours: number) => new Date(t.clock.now() + hours * HOUR_MS).toISOString()

async function opened(options: object = {}) {
  const { t, shop } = await withShop()
  const path = `/operator/accounts/${t.accountId}/complaints`
  const { body: complaint } = await shop('POST', path, { ...body, ...options })
  const mine = `${own}/${complaint.complaint_id}`
  return { t, shop, path, complaint, mine, one: `${all}/${complaint.complaint_id}` }
}

async function sent(t: TestApp): Promise<string[]> {
  await t.app.complaintMails.look()
  await t.app.mails.look()
  return t.mails.splice(0).map(({ to, subject }) => `${to}: ${subject}`)
}

test('a customer sees a complaint with its deadline and answers it, the operator replies and closes it, with events', async () => {
  const { t, shop, path } = await opened()
  const server_id = await make(t, { name: 'web-1' })
  const opening = await shop('POST', path, { ...body, kind: 'scan', server_id, deadline_hours: 3 })
  const { complaint_id } = opening.body
  const shared = { kind: 'scan', server_id, server_name: 'web-1', deadline_at: later(t, 3), outcome: null }
  expect([opening.status, opening.body]).toMatchObject([
    201,
    { ...shared, account_id: t.accountId, email: 'customer1@example.com', status: 'awaiting_customer' },
  ])
  const { items, total } = (await t.call('GET', own)).body
  expect([total, items[0]]).toMatchObject([2, { complaint_id, ...shared, is_overdue: false }])
  const mine = `${own}/${complaint_id}`
  const answer = await t.call('POST', `${mine}/answers`, { text: 'Our crawler.\nIt is off.' })
  expect([answer.status, answer.body]).toMatchObject([201, { status: 'awaiting_operator' }])
  t.clock.advance(4 * HOUR_MS)
  const one = `${all}/${complaint_id}`
  const { body: read } = await (await operator(t))('GET', one)
  expect(read).toMatchObject({
    is_overdue: false,
    messages: [{ author: 'customer', text: 'Our crawler.\nIt is off.' }],
  })
  expect(read.remedy).toContain(`berthd abuse close ${complaint_id}`)
  const reply = await shop('POST', `${one}/replies`, { text: 'Until when?' })
  expect(reply.body).toMatchObject({ status: 'awaiting_customer', deadline_at: later(t, 24) })
  await t.call('POST', `${mine}/answers`, { text: 'For good.' })
  const closing = await shop('POST', `${one}/close`, { outcome: 'solved', text: 'Thank you.' })
  expect([closing.status, closing.body]).toMatchObject([200, { status: 'closed', outcome: 'solved' }])
  const { messages } = (await t.call('GET', mine)).body
  expect(messages.map(({ author }: { author: string }) => author)).toEqual([
    'customer',
    'operator',
    'customer',
    'operator',
  ])
  expect((await t.call('GET', `${own}?status=closed`)).body.items).toMatchObject([{ complaint_id }])
  const events = (await t.call('GET', '/events')).body.items
  const types = events.flatMap(({ type, data }: { type: string; data: { complaint_id?: string } }) =>
    data.complaint_id === complaint_id ? [type] : [],
  )
  expect(types.toSorted()).toEqual(['complaint.created', ...Array(4).fill('complaint.updated')])
  const audit = (await t.call('GET', '/account/audit')).body.items
  expect(audit[0]).toMatchObject({
    action: "closeComplaint, by the operator's token shop",
    object_type: 'complaint',
    address: null,
  })
})

/** A token that is valid after the clock was turned. */
async function operator(t: TestApp) {
  return t.callAs((await makeOperatorToken(t, ['operator:read', 'operator:write'])).value)
}

test('owners and admins get mails in their language, and a reminder only while an answer is missing', async () => {
  const { t, shop, one, mine, complaint } = await opened()
  for (const [name, role] of [
    ['ann', 'owner'],
    ['boris', 'admin'],
    ['carl', 'member'],
  ] as const) {
    const email = `${name}@example.com`
    const language = name === 'boris' ? 'ru' : 'en'
    const made = await createPerson(t.db, t.clock, { email, name, language, password: null })
    await addMember(t.db, t.clock, { accountId: t.accountId, personId: made?.person_id ?? '', role })
  }
  expect(await sent(t)).toEqual([
    'ann@example.com: A complaint about spam at localhost',
    'boris@example.com: Жалоба на localhost: спам',
  ])
  t.clock.advance(17 * HOUR_MS)
  expect(await sent(t)).toEqual([])
  t.clock.advance(HOUR_MS)
  const reminder = 'ann@example.com: A complaint at localhost awaits your answer'
  expect((await sent(t))[0]).toBe(reminder)
  expect(await sent(t)).toEqual([])
  expect((await t.call('GET', mine)).body.reminded_at).toBe(later(t, 0))
  const text = 'Done.'
  await t.call('POST', `${mine}/answers`, { text })
  await shop('POST', `${one}/replies`, { text: 'How?', deadline_hours: 8 })
  expect((await sent(t))[0]).toBe('ann@example.com: A reply about a complaint at localhost')
  await t.call('POST', `${mine}/answers`, { text })
  t.clock.advance(7 * HOUR_MS)
  expect(await sent(t)).toEqual([])
  await (await operator(t))('POST', `${one}/close`, { outcome: 'unfounded' })
  expect((await sent(t))[0]).toBe('ann@example.com: A complaint at localhost is closed')
  expect(complaint.deadline_at).not.toBe(null)
})

test('an overdue complaint says what to do beside it, nothing is stopped, and a suspended account still answers', async () => {
  const { t, shop, path } = await opened()
  const server_id = await make(t, { name: 'web-1' })
  const { complaint_id } = (await shop('POST', path, { ...body, server_id, deadline_hours: 1 })).body
  t.clock.advance(HOUR_MS)
  const [first] = (await shop('GET', `${all}?account_id=${t.accountId}`)).body.items
  expect(first).toMatchObject({ complaint_id, is_overdue: true, is_frozen: false })
  const reason = '--reason "complaint about spam, not answered in time"'
  expect(first.remedy).toContain(`berthd server suspend ${server_id} ${reason}`)
  expect(first.remedy).toContain(`berthd account freeze ${t.accountId} ${reason}`)
  expect((await t.call('GET', `/servers/${server_id}`)).body.status).toBe('running')
  await shop('POST', `/operator/accounts/${t.accountId}/suspend`, { reason: 'spam' })
  const answer = await t.call('POST', `${own}/${complaint_id}/answers`, { text: 'Removed.' })
  expect([answer.status, answer.body.status]).toEqual([201, 'awaiting_operator'])
})

test('complaints are of one account, and refuse wrong servers, times and texts, and changes once they are closed', async () => {
  const { t, shop, path, one, mine } = await opened()
  const wrong = async (more: object) => issues((await shop('POST', path, { ...body, ...more })).body)
  expect(await wrong({ server_id: NOBODY })).toEqual([['/server_id', 'not_found']])
  expect(await wrong({ deadline_hours: 0 })).toEqual([['/deadline_hours', 'below_minimum']])
  expect(await wrong({ deadline_hours: 721 })).toEqual([['/deadline_hours', 'above_maximum']])
  expect(await wrong({ text: ' \n ' })).toEqual([['/text', 'invalid_format']])
  expect(await wrong({ text: 'x'.repeat(4001) })).toEqual([['/text', 'too_long']])
  const other = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() }))
  const refused = [await other('GET', mine), await other('POST', `${mine}/answers`, { text: 'Mine?' })]
  expect(refused.map(({ status }) => status)).toEqual([404, 404])
  expect((await other('GET', own)).body.total).toBe(0)
  expect((await t.callAs(await t.makeToken(['read']))('POST', `${mine}/answers`, { text: 'x' })).status).toBe(
    403,
  )
  expect((await shop('POST', `/operator/accounts/${NOBODY}/complaints`, body)).body.code).toBe(
    'account_not_found',
  )
  await shop('POST', `${one}/close`, { outcome: 'measures_taken' })
  const after = [
    await t.call('POST', `${mine}/answers`, { text: 'Late.' }),
    await shop('POST', `${one}/replies`, { text: 'Late.' }),
    await shop('POST', `${one}/close`, { outcome: 'solved' }),
  ]
  expect(after.map((reply) => reply.body.code)).toEqual(Array(3).fill('complaint_closed'))
})

test('an account has at most 20 open complaints with 10 answers each, and the newest 50 closed ones for a year', async () => {
  const { t, shop, path, one, mine } = await opened()
  const key = { 'idempotency-key': 'answer-1' }
  const tries = Array.from({ length: 12 }, () => t.call('POST', `${mine}/answers`, { text: 'Mine.' }))
  expect((await Promise.all(tries)).filter(({ status }) => status === 201)).toHaveLength(10)
  const full = await t.call('POST', `${mine}/answers`, { text: 'Mine.' }, key)
  expect([full.status, full.body.code]).toEqual([409, 'too_many_messages'])
  for (let n = 0; n < 10; n += 1) await shop('POST', `${one}/replies`, { text: 'And?' })
  expect((await shop('POST', `${one}/replies`, { text: 'And?' })).body.code).toBe('too_many_messages')
  expect((await shop('POST', `${one}/close`, { outcome: 'solved', text: 'Bye.' })).status).toBe(200)

  const openings = await Promise.all(Array.from({ length: 22 }, () => shop('POST', path, body)))
  const codes = openings.flatMap(({ status, body: { code } }) => (status === 201 ? [] : [code]))
  expect(codes).toEqual(['too_many_complaints', 'too_many_complaints'])
  const row = await t.db.selectFrom('complaints').selectAll().limit(1).executeTakeFirstOrThrow()
  const now = t.clock.now()
  const closed = Array.from({ length: 60 }, (_, n) => ({
    ...{ ...row, complaint_id: `closed-${n}`, closed_at: now - n, outcome: 'solved' as const },
    letter_at: null,
  }))
  await t.db.insertInto('complaints').values(closed).execute()
  const left = () => t.db.selectFrom('complaints').select('closed_at').execute()
  await t.app.retention.look()
  expect((await left()).filter(({ closed_at }) => closed_at !== null)).toHaveLength(50)
  t.clock.advance(366 * DAY_MS)
  await t.app.retention.look()
  expect((await left()).map(({ closed_at }) => closed_at)).toEqual(Array(20).fill(null))
})

test('an opening and an answer that are repeated with their keys are carried out once', async () => {
  const { t, shop, path, mine } = await opened()
  const keyed = (key: string) => ({ 'idempotency-key': key })
  const first = await shop('POST', path, body, keyed('open'))
  const again = await shop('POST', path, body, keyed('open'))
  expect(again.body.complaint_id).toBe(first.body.complaint_id)
  for (let n = 0; n < 2; n += 1) await t.call('POST', `${mine}/answers`, { text: 'Once.' }, keyed('answer'))
  expect((await t.call('GET', mine)).body.messages).toHaveLength(1)
  expect((await t.call('GET', own)).body.total).toBe(2)
})
