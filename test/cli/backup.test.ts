import { test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

const DAY = 24 * 3600_000

test('backups are turned on, shown, restored, kept as snapshots and deleted', async () => {
  const t = await loggedIn()
  const { server_id } = await t.make('web-1')
  await t.run('server update web-1 --backups --backup-window 3')
  const names: string[] = []
  for (let night = 0; night < 2; night++) {
    t.clock.advance(DAY)
    await t.app.backups.look()
    await t.finish()
    const { items } = (await t.call('GET', `/backups?server_id=${server_id}`)).body
    names.push(`'${items[0].name}'`)
  }
  const [first, second] = names
  await expectSession(t, 'backup', [
    'server update web-1 --backup-window 24',
    'backup list',
    'backup list --server web-1 -o json',
    'backup list --sort color',
    `backup show ${first}`,
    `backup show ${first} -o json`,
    'backup show none',
    `server restore web-1 ${first} --yes --wait`,
    `backup keep ${first} --name kept`,
    `backup keep ${second} -o json`,
    'backup keep none',
    'backup delete none',
    'server update web-1 --no-backups -o name',
  ])
})

test('a backup is deleted', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await t.run('server update web-1 --backups')
  t.clock.advance(DAY)
  await t.app.backups.look()
  await t.finish()
  const [backup] = (await t.call('GET', '/backups')).body.items
  await expectSession(t, 'backup-delete', [`backup delete ${backup.backup_id}`, 'backup list'])
})
