// People are mailed about servers that are down, and about failed backups: one mail for all of an account.
import { expect, test } from 'vitest'
import { DriverError, type MachineState } from '../../../api/drivers/driver.ts'
import { updatePerson } from '../../../api/people/person/people.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { addReaders, mailedBy } from '../../harness/readers.ts'
import { make } from '../harness/ordering.ts'
import { makeOperatorToken } from '../operator/harness/shop.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** An account with an owner, a member and one who only pays. */
async function withPeople() {
  const t = await testApp()
  const [ann = '', boris = ''] = await addReaders(t, [
    ['ann@example.com', 'owner', 'en'],
    ['boris@example.com', 'member', 'ru'],
    ['paul@example.com', 'billing', 'en'],
  ])
  return { t, ann, boris }
}

/** Looks after a while, and returns the mails that this sent. */
async function mailed(t: TestApp, afterMs = 2 * MINUTE) {
  t.clock.advance(afterMs)
  return mailedBy(t, t.app.serviceMails)
}

/** Lets an operator's token suspend and resume servers. */
async function operating(t: TestApp) {
  const shop = t.callAs((await makeOperatorToken(t, ['operator:write'])).value)
  return async (id: string, action: 'suspend' | 'resume', reason = 'Sends spam') => {
    expect((await shop('POST', `/operator/servers/${id}/${action}`, { reason })).status).toBe(200)
    await t.finish()
  }
}

/** Cuts the host of all machines off, until the returned function is called. */
function loseHost(t: TestApp): () => void {
  const { list, inspect } = t.driver
  const away: MachineState = { power: 'away', isMoving: false }
  t.driver.list = async () => new Map([...(await list.call(t.driver)).keys()].map((id) => [id, away]))
  t.driver.inspect = async () => away
  return () => Object.assign(t.driver, { list, inspect })
}

const addressOf = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}`)).body.ipv4

test('all servers of a lost host are one mail, in the language of each reader', async () => {
  const { t } = await withPeople()
  const ids: string[] = []
  for (let count = 0; count < 12; count++) ids.push(await make(t))
  const back = loseHost(t)
  await t.app.reconciler.look()
  expect(await mailed(t, MINUTE)).toEqual([])
  await t.app.reconciler.look()
  const [english, russian, ...others] = await mailed(t)
  expect(others).toEqual([])
  expect([english?.to, russian?.to]).toEqual(['ann@example.com', 'boris@example.com'])
  expect(english?.subject).toBe('12 servers at localhost went down')
  const first = [...ids].sort()[0] ?? ''
  expect(english?.text).toContain(
    `Servers of the account customer1@example.com should run, but were found not running:

${(await addressOf(t, first)) ?? first}: the host does not answer. The server may still be running.
`,
  )
  expect(english?.text.match(/the host does not answer/g)).toHaveLength(10)
  expect(english?.text).toContain(
    `More servers: 2.\n\nOpen the servers: http://localhost/servers?account=${t.accountId}\n`,
  )
  expect(russian?.subject).toBe('Серверы на localhost не работали: 12')
  expect(russian?.text).toContain('узел не отвечает.')
  await t.app.reconciler.look()
  expect(await mailed(t, 2 * HOUR)).toEqual([])
  back()
})

test('a host that is back at once is not mailed, and a server that died is mailed at most once an hour', async () => {
  const { t, boris } = await withPeople()
  await updatePerson(t.db, boris, { muted_mails: 'backups servers' })
  const id = await make(t)
  const back = loseHost(t)
  await t.app.reconciler.look()
  back()
  await t.app.reconciler.look()
  expect(await mailed(t)).toEqual([])
  t.driver.turnsOffByItself(id, 'crashed')
  await t.app.reconciler.look()
  await t.finish()
  const [mail, ...others] = await mailed(t)
  expect([mail?.to, mail?.subject, others]).toEqual([
    'ann@example.com',
    'A server at localhost went down',
    [],
  ])
  expect(mail?.text).toContain('the machine died and was started again.')
  t.clock.advance(10 * MINUTE)
  for (let crash = 0; crash < 6; crash++) {
    t.driver.turnsOffByItself(id, 'crashed')
    await t.app.reconciler.look()
    await t.finish()
  }
  expect(await mailed(t)).toEqual([])
  const [next] = await mailed(t, HOUR)
  expect(next?.text).toContain('the machine died several times in a row.')
})

test('nothing is mailed of a server that its customer stopped, within the guest, by the API or after a crash', async () => {
  const { t } = await withPeople()
  const [inside, stopped, crashed] = [await make(t), await make(t), await make(t)]
  t.driver.turnsOffByItself(inside, 'guest_shutdown')
  await t.call('POST', `/servers/${stopped}/stop`)
  await t.finish()
  t.driver.turnsOffByItself(crashed, 'crashed')
  await t.app.reconciler.look()
  await t.finish()
  await t.call('POST', `/servers/${crashed}/stop`)
  await t.finish()
  await t.app.reconciler.look()
  expect(await mailed(t)).toEqual([])
})

test('a server that died and could not be started again is mailed', async () => {
  const { t } = await withPeople()
  const id = await make(t)
  t.driver.turnsOffByItself(id, 'crashed')
  for (let at = 0; at < 40; at++) t.driver.failNext('start', new DriverError('disk_full', 'full'))
  await t.app.reconciler.look()
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('stopped')
  expect((await mailed(t))[0]?.text).toContain('could not be started again.')
})

/** Makes the backups of the next day. */
async function backUp(t: TestApp): Promise<void> {
  const now = t.clock.now()
  t.clock.advance(DAY - (now % DAY) + 3 * HOUR)
  for (;;) {
    await t.app.backups.look()
    if ((await t.app.engine.nextDueAt()) === null) return
    await t.finish()
  }
}

const backedUp = { backups_enabled: true, backup_window: 3 }

test('failed backups of all servers are one mail a day, unless they are muted', async () => {
  const { t, ann } = await withPeople()
  const ids = [await make(t, backedUp), await make(t, backedUp)]
  await updatePerson(t.db, ann, { muted_mails: 'backups' })
  for (let at = 0; at < 40; at++) t.driver.failNext('snapshot', new DriverError('disk_full', 'full'))
  await backUp(t)
  const [mail, ...others] = await mailed(t, 0)
  expect([mail?.to, mail?.subject, others]).toEqual([
    'boris@example.com',
    'Сбой резервного копирования на localhost',
    [],
  ])
  expect(mail?.text.match(/резервную копию создать не удалось/g)).toHaveLength(2)
  await t.db
    .updateTable('snapshots')
    .set({ failed_at: t.clock.now() })
    .where('server_id', 'in', ids)
    .execute()
  expect(await mailed(t, HOUR)).toEqual([])
  await t.call('DELETE', `/servers/${ids[0]}`)
  await t.finish()
  await updatePerson(t.db, ann, { muted_mails: '' })
  const [english] = await mailed(t, DAY)
  expect([english?.to, english?.subject]).toEqual(['ann@example.com', 'Backups at localhost failed'])
  expect(english?.text.match(/the backup could not be created/g)).toHaveLength(1)
})

test('a backup that is damaged, and one that does not start, are mailed', async () => {
  const { t } = await withPeople()
  const id = await make(t, backedUp)
  await backUp(t)
  const [{ backup_id }] = (await t.call('GET', `/servers/${id}/backups`)).body.items
  await t.driver.boots(backup_id, { state: 'failed', message: 'Its console shows a panic' })
  await t.app.backups.bootNewest()
  t.clock.advance(2 * MINUTE)
  await t.app.backups.bootNewest()
  expect((await mailed(t, 0))[0]?.text).toContain('a backup did not start in a test.')
  await t.driver.damages(backup_id)
  t.clock.advance(DAY)
  await t.app.backups.verify()
  expect((await mailed(t, 0))[0]?.text).toContain('a backup is damaged and cannot be restored.')
})

test('people are mailed once about servers that the operator suspends and resumes, also those who muted other mails', async () => {
  const { t, ann } = await withPeople()
  const [one, two] = [await make(t), await make(t)]
  const act = await operating(t)
  await updatePerson(t.db, ann, { muted_mails: 'servers,backups' })
  await act(one, 'suspend')
  await act(two, 'suspend', 'Attacks <others>')
  const [english, russian, ...others] = await mailed(t, 0)
  expect(others).toEqual([])
  expect([english?.to, russian?.to]).toEqual(['ann@example.com', 'boris@example.com'])
  expect(english?.subject).toBe('The operator of localhost has suspended servers of yours')
  expect(english?.text).toContain(`${one}: suspended by the operator. The reason: Sends spam\n`)
  expect(english?.html).toContain('Attacks &lt;others&gt;')
  expect(russian?.subject).toBe('Оператор localhost приостановил серверы: 2')
  await act(one, 'suspend')
  expect(await mailed(t)).toEqual([])
  await act(one, 'resume')
  expect((await mailed(t, 0))[0]?.text).toContain(`${one}: no longer suspended by the operator.`)
  // Nobody is mailed about a slip that is undone at once, or about a server that is gone.
  await act(one, 'suspend')
  await act(one, 'resume')
  await act(two, 'resume')
  await t.call('DELETE', `/servers/${two}`)
  await t.finish()
  expect(await mailed(t)).toEqual([])
})
