import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { listen } from '../sdk/harness/listener.ts'
import { expectSession, loggedIn } from './harness/berth.ts'

test('a server is created, listed, shown, stopped, started and deleted by its name', async () => {
  const t = await loggedIn({ sshPorts: { first: 22741, last: 22741 } })
  await expectSession(t, 'server', [
    'server create web-1 --template micro --preset nano --wait',
    'server list',
    'server list -o yaml',
    'server list -o name',
    'server list --columns name,month,labels --no-header',
    'server show web-1',
    'server screen web-1',
    'server stop web-1 --wait',
    'server stop web-1',
    'server stop web-1 -o name',
    'server reboot web-1',
    'server start web-1 --no-wait',
    'server wait web-1 -o name',
    'server start web-1',
    'operation list web-1 --columns type,status,progress',
    'server delete web-1',
    'server delete web-1 --yes --wait',
    'server show web-1',
    'server stop web-1',
    'server start web-1',
    'server create --template dos --preset nano',
    'server create --template micro --cpu 1',
    'server list --sort color',
    'server list --tint',
  ])
})

test('with -o json, each command prints the reply of the API', async () => {
  const t = await loggedIn({ sshPorts: { first: 22741, last: 22741 } })
  await expectSession(t, 'server-json', [
    'server create web-1 --template micro --preset nano --wait -o json',
    'server list -o json',
    'server show web-1 -o json',
    'server screen web-1 -o json',
    'server update web-1 --description shop -o json',
    'server stop web-1 --wait -o json',
    'server start web-1 --wait -o json',
    'server start web-1',
    'server reboot web-1 --wait',
    'server reboot web-1 --no-wait -o json',
    'server reboot web-1',
    'server wait web-1 -o name',
    'server resize web-1 --preset small --stop -o json',
    'server details none',
    'server delete web-1 --yes --wait -o json',
  ])
})

test('ports of a server are published, listed with their addresses, and withdrawn', async () => {
  const t = await loggedIn({ sshPorts: { first: 22741, last: 22741 } })
  await t.make('web-1')
  await expectSession(t, 'server-ports', [
    'server publish web-1 53/udp',
    'server publish web-1 53/udp',
    'server publish web-1 53/udp --host-port 22741 -o json',
    'server ports web-1',
    'server ports web-1 -o json',
    'server publish web-1 5353/udp --host-port 22741',
    'server publish web-1 80 --host-port 80',
    'server publish web-1 80',
    'server publish web-1 http',
    'server unpublish web-1 53/udp',
    'server unpublish web-1 53/udp',
    'server unpublish web-1 22',
    'server publish web-1 123/udp -o json',
    'server unpublish web-1 123/udp -o json',
    'server create dns-1 --template micro --preset nano --no-start --wait --publish 53/udp --publish 53',
    'server ports dns-1',
    'server create dns-2 --template micro --preset nano --publish dns',
    'server ports none',
  ])
})

test('operations are listed, shown and waited for by their ids', async () => {
  const t = await loggedIn()
  const { server_id } = await t.make('web-1')
  const { operation_id } = (await t.berth.operations.list({ subject_id: server_id })).items[0] ?? {}
  await expectSession(t, 'operation', [
    'operation list web-1',
    'operation list web-1 -o json',
    'operation list --status running',
    'operation list --type create',
    'operation list --type created',
    'operation list none',
    `operation show ${operation_id}`,
    `operation show ${operation_id} -o json`,
    `operation show ${server_id}`,
    'operation show first',
    `operation wait ${operation_id}`,
    `operation wait ${operation_id} -o json`,
    'operation wait ../first',
  ])
})

test('a server is ordered with every option of the API, and missing options are reported', async () => {
  const t = await loggedIn({ sshPorts: { first: 22741, last: 22741 } })
  await t.berth.projects.create({ name: 'shop' })
  const options = "--project shop --label env=prod --label tier=web --description 'a shop'"
  await expectSession(t, 'server-create', [
    `server create web-1 --template micro --preset nano ${options} --no-start --delete-protection --wait`,
    'server list --columns name,status,labels',
    'server details web-1',
    'server start web-1 --wait',
    'server wait web-1',
    'server details web-1',
    'server details web-1 -o json',
    'server delete web-1 --yes',
    'server create',
    'server create web-2 --preset nano',
    'server create web-2 --template micro --preset giant',
    'server create web-2 --template micro --preset nano --cpu 2',
    'server create web-2 --template micro --cpu two',
    'server create web-2 --template micro --preset nano --label env',
    'server create web-2 --template micro --preset nano --user-data-file /none',
    'server create web-2 --template micro --preset nano --project none',
  ])
})

test('a server is rebuilt from another template, once its name is confirmed', async () => {
  const t = await loggedIn({ sshPorts: { first: 22741, last: 22741 } })
  await t.make('web-1')
  await expectSession(t, 'server-rebuild', [
    'server rebuild web-1 --template debian-12',
    'server rebuild web-1',
    'server rebuild web-1 --template debian-99 --yes',
    'server rebuild web-1 --template debian-12 --yes --wait',
    'server details web-1',
    'server rebuild web-1 --template micro --no-ssh-key --yes --wait -o json',
    'server update web-1 --delete-protection -o name',
    'server rebuild web-1 --template micro --yes',
    'server reset-password web-1 --wait',
    'server reset-password web-1 --wait -o json',
    'server stop web-1 --wait',
    'server reset-password web-1',
  ])
})

test('a server boots the rescue system, whose login is shown, and then its own disk again', async () => {
  const t = await loggedIn({ sshPorts: { first: 22741, last: 22741 } })
  await t.make('web-1')
  await expectSession(t, 'server-rescue', [
    'server unrescue web-1',
    'server rescue web-1 --ssh-key none',
    'server rescue web-1 --wait',
    'server show web-1',
    'server reset-password web-1',
    'server unrescue web-1 --wait -o json',
    'server rescue web-1 --wait -o json',
    'server unrescue web-1 --wait',
    'server show web-1',
  ])
})

test('user data is read from a file, or piped in', async () => {
  const t = await loggedIn()
  const file = path.join(t.home, 'setup')
  const order = 'server create --template micro --preset nano --user-data-file'
  writeFileSync(file, '#'.repeat(65_537))
  const tooLong = { code: 2, err: expect.stringContaining('Error: user_data') }
  expect(await t.run(`${order} ${file}`)).toMatchObject(tooLong)
  expect(await t.run(`${order} -`, '#'.repeat(65_537))).toMatchObject(tooLong)
  expect(await t.run(`${order} -`, '#!/bin/sh\n')).toMatchObject({ code: 0 })
})

test('a server is renamed, labelled, moved and protected', async () => {
  const t = await loggedIn({ sshPorts: { first: 22741, last: 22741 } })
  await t.berth.projects.create({ name: 'shop' })
  await t.make('web-1')
  await expectSession(t, 'server-update', [
    'server update web-1 --name web-2 --description shop --label env=prod --label tier=web --project shop',
    'server update web-2 --label env=test --remove-label tier --delete-protection -o name',
    'server list --columns name,labels',
    'server details web-2 -o name',
    'server delete web-2 --yes',
    'server update web-2 --no-delete-protection -o name',
    'server delete web-2 --wait --yes -o name',
    'server update web-2',
    'server update web-2 --name web-3',
  ])
})

test('two simultaneous changes of labels do not undo each other', async () => {
  const t = await loggedIn()
  const { server_id } = await t.make('web-1')
  const runs = ['a=1', 'b=2', 'c=3'].map((label) => t.run(`server update web-1 --label ${label}`))
  const codes = (await Promise.all(runs)).map(({ code }) => code)
  expect(codes.filter((code) => code !== 0 && code !== 4)).toEqual([])
  const { labels } = await t.berth.servers.get(server_id)
  expect(Object.keys(labels)).toHaveLength(codes.filter((code) => code === 0).length)
})

test('a running server is stopped, resized and started; a size that is never accepted does not stop it', async () => {
  const t = await loggedIn({
    sshPorts: { first: 22741, last: 22741 },
    simulator: { host: { diskGb: 60 } },
  })
  await t.make('web-1')
  await expectSession(t, 'server-resize', [
    'server resize web-1 --preset small',
    'server resize web-1 --preset small --stop',
    'server resize web-1 --disk-gb 5 --stop',
    'server resize web-1 --cpu 4 --disk-gb 500 --stop',
    'server resize web-1 --disk-gb 45 --wait',
    'server list --columns name,status,cpu,ram_mb,disk_gb',
    'operation list web-1 --columns type,status',
    'server stop web-1 --timeout 5 --wait -o name',
    'server resize web-1 --ram-mb 4096 --wait',
    'server resize web-1 --preset giant',
    'server resize web-1',
    'server reboot web-1 --timeout soon',
  ])
})

test('a failed operation is reported to a waiting command, and by the exit code', async () => {
  const t = await loggedIn({ sshPorts: { first: 22741, last: 22741 } })
  await t.make('web-1')
  await t.run('server stop web-1 --wait')
  for (let attempt = 0; attempt < 6; attempt++) t.driver.failNext('start', new Error('broken'))
  await expectSession(t, 'server-wait', [
    'server start web-1 --no-wait -o name',
    'server wait web-1',
    'server ssh web-1',
    'server start web-1 --wait -o name',
    'server wait web-1',
    'server wait web-1 -o json',
    'server wait none',
  ])
})

test.each([
  ['is cut off', (reply: ServerResponse) => reply.destroy()],
  ['ends at a proxy', (reply: ServerResponse) => reply.writeHead(502).end()],
])('who waits while the connection %s is told how to follow what was ordered', async (_, lose) => {
  const t = await loggedIn()
  const address = new URL(t.baseUrl).origin
  t.env.BERTH_URL = await listen(async (request, reply) => {
    if (request.url?.includes('/operations')) return lose(reply)
    const { method = '', headers, url = '' } = request
    const body = method === 'POST' ? { body: await text(request) } : {}
    const { authorization = '' } = headers
    const sent = { 'content-type': 'application/json', authorization }
    const answer = await fetch(new URL(url, address), { method, headers: sent, ...body })
    reply.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  const { code, err } = await t.run('server create web-1 --template micro --preset nano --no-ssh-key --wait')
  expect(code).toBe(1)
  const told = /^Error: .*\nThe operation was accepted\. Follow it with: berth (operation wait .*)\n$/.exec(
    err,
  )
  t.env.BERTH_URL = t.baseUrl
  expect(await t.run(told?.[1] ?? err)).toMatchObject({ code: 0 })
})

test('-o json works before and after the command’s name', async () => {
  const t = await loggedIn()
  const server = await t.make('web-1')
  expect(JSON.parse((await t.run('server list -o json')).out)).toEqual([server])
  expect(JSON.parse((await t.run('-o json server show web-1')).out)).toMatchObject({
    ssh: { is_ready: true },
  })
})

test('an ambiguous name is reported with the ids of all matches', async () => {
  const t = await loggedIn()
  const ids = [await t.make('twin'), await t.make('twin')].map(({ server_id }) => server_id)
  expect(await t.run('server show twin')).toEqual({
    code: 2,
    out: '',
    err: `Error: 2 servers are named twin: ${ids.toReversed().join(', ')}.\nUse the id instead.\n`,
  })
  expect(await t.run(`server show ${ids[0]}`)).toMatchObject({ code: 0 })
})

test('with -o json an error is a line of JSON, whether it comes from the API, the command or its options', async () => {
  const t = await loggedIn()
  const failed = async (line: string) => {
    const { code, out, err } = await t.run(line)
    expect([line, out]).toEqual([line, ''])
    return { code, ...JSON.parse(err.trimEnd().split('\n').at(-1) ?? '').error }
  }
  expect(await failed('quote --preset giant -o json')).toMatchObject({
    code: 3,
    exit_code: 3,
    message: expect.stringContaining('No such preset: giant.'),
    advice: expect.stringContaining('berth preset list'),
    problem: { code: 'validation_failed', status: 422, errors: [{ field: 'preset', code: 'not_found' }] },
  })
  expect(await failed('--output=json server show none')).toEqual({
    code: 3,
    exit_code: 3,
    message: 'No such server: none.',
    advice: 'List them with: berth server list',
    problem: null,
  })
  expect(await failed('server list -ojson --name x')).toMatchObject({
    code: 2,
    exit_code: 2,
    message: "unknown option '--name'",
    problem: null,
  })
  expect((await t.run('server ssh none -- ls -o json')).err).toMatch(/^Error: /)
})
