import { expect, test } from 'vitest'
import { expectSession, loggedIn } from './berth.ts'

test('a server is created, listed, shown, stopped, started and deleted by its name', async () => {
  const t = await loggedIn({ sshPorts: { first: 22741, last: 22741 } })
  await expectSession(t, 'server', [
    'server create web-1 --template micro --preset nano --wait',
    'server list',
    'server list -o yaml',
    'server list -o name',
    'server list --columns name,month,labels --no-header',
    'server show web-1',
    'server stop web-1 --wait',
    'server stop web-1',
    'server start web-1 --no-wait',
    'operation list web-1 --columns type,status,progress',
    'server delete web-1',
    'server delete web-1 --yes --wait',
    'server show web-1',
    'server create --template dos --preset nano',
    'server create --template micro --cpu 1',
    'server list --sort color',
    'server list --tint',
  ])
})

test('with -o json a command prints what the API replied, before or after its name', async () => {
  const t = await loggedIn()
  const server = await t.make('web-1')
  expect(JSON.parse((await t.run('server list -o json')).out)).toEqual([server])
  expect(JSON.parse((await t.run('-o json server show web-1')).out)).toMatchObject({
    ssh: { is_ready: true },
  })
})

test('a name that several have is told with their ids', async () => {
  const t = await loggedIn()
  const ids = [await t.make('twin'), await t.make('twin')].map(({ server_id }) => server_id)
  expect(await t.run('server show twin')).toEqual({
    code: 2,
    out: '',
    err: `Error: 2 have the name twin: ${ids.toReversed().join(', ')}.\nSay which by its id.\n`,
  })
  expect(await t.run(`server show ${ids[0]}`)).toMatchObject({ code: 0 })
})
