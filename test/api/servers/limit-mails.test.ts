// People are mailed about limits of which their account uses four fifths, and read of them in the console.
import { expect, test } from 'vitest'
import { changeQuotas } from '../../../api/accounts/accounts.ts'
import { quotas } from '../../../api/features.ts'
import { limitWords } from '../../../api/people/letters/limits.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { addReaders, mailedBy } from '../../harness/readers.ts'

const DAY = 24 * 3600_000

async function withPeople() {
  const t = await testApp()
  await addReaders(t, [
    ['ann@example.com', 'owner', 'en'],
    ['boris@example.com', 'member', 'ru'],
    ['paul@example.com', 'billing', 'en'],
  ])
  return t
}

const limit = (t: TestApp, projects: number) =>
  changeQuotas({ ...t, quotas }, t.accountId, { change: { projects }, reason: 'test' })

async function addProjects(t: TestApp, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let number = 0; number < count; number++)
    ids.push((await t.call('POST', '/account/projects', { name: `p${number}` })).body.project_id)
  return ids
}

/** Looks after a while, and returns the mails that this sent. */
async function mailed(t: TestApp, afterMs = DAY) {
  t.clock.advance(afterMs)
  return mailedBy(t, t.app.limitMails)
}

test('a limit of which four fifths are used is mailed once to those who may use it, in their language', async () => {
  const t = await withPeople()
  await limit(t, 10)
  await addProjects(t, 6)
  expect(await mailed(t)).toEqual([])
  await addProjects(t, 1)
  const [english, russian, ...others] = await mailed(t)
  expect(others).toEqual([])
  expect(english).toMatchObject({ to: 'ann@example.com', subject: 'Limits at localhost are nearly reached' })
  expect(english?.text).toContain('\n\nProjects: 8 of 10\n\n')
  expect(english?.link).toMatch(/^http:\/\/localhost\/account/)
  expect(russian).toMatchObject({ to: 'boris@example.com', subject: 'Лимиты на localhost почти исчерпаны' })
  expect(russian?.text).toContain('Проекты: 8 из 10')
  await addProjects(t, 1)
  expect(await mailed(t)).toEqual([])
})

test('a limit is mailed again after it was far, or is raised, once a day, and not to those who mute it', async () => {
  const t = await withPeople()
  await limit(t, 10)
  const ids = await addProjects(t, 7)
  expect((await mailed(t)).length).toBe(2)
  await limit(t, 9)
  expect(await mailed(t)).toEqual([])
  await limit(t, 10)
  for (const id of ids.slice(0, 3)) await t.call('DELETE', `/account/projects/${id}`)
  expect(await mailed(t)).toEqual([])
  await addProjects(t, 4)
  expect((await mailed(t)).length).toBe(2)
  await limit(t, 11)
  expect(await mailed(t, DAY / 2)).toEqual([])
  await t.db.updateTable('people').set({ muted_mails: 'limits' }).where('language', '=', 'ru').execute()
  expect((await mailed(t)).map(({ to }) => to)).toEqual(['ann@example.com'])
})

test('limits below five are not mailed, nor those of accounts that are not active', async () => {
  const t = await withPeople()
  await limit(t, 4)
  await addProjects(t, 3)
  expect(await mailed(t)).toEqual([])
  await limit(t, 5)
  await t.db.updateTable('accounts').set({ status: 'suspended' }).execute()
  expect(await mailed(t)).toEqual([])
  await t.db.updateTable('accounts').set({ status: 'active' }).execute()
  expect((await mailed(t)).length).toBe(2)
})

test('mails have words for each quota', () => {
  expect(Object.keys(limitWords).toSorted()).toEqual(quotas.map(({ name }) => name).toSorted())
})
