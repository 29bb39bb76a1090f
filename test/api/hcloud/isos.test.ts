import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { catalogText } from '../../harness/app.ts'
import { uploaded } from '../harness/isos.ts'
import { hcloudApp, hcloudToken } from './harness.ts'

const web = { name: 'web', server_type: 'nano', image: 'micro' }

test('an own ISO is listed, put into the drive of a server by name or number, and taken out', async () => {
  const t = await hcloudApp()
  const id = await uploaded(t)
  const { isos } = (await t.ask('GET', '/isos?name=installer')).body
  expect(isos).toMatchObject([{ name: 'installer', type: 'private', architecture: 'x86' }])
  const [iso] = isos
  expect((await t.ask('GET', `/isos/${iso.id}`)).body).toEqual({ iso })
  expect((await t.ask('GET', '/isos?architecture=arm')).body.isos).toEqual([])
  const { server } = await t.act('POST', '/servers', web)
  const path = `/servers/${server.id}`
  const shown = async () => {
    const one = (await t.ask('GET', path)).body.server
    expect((await t.ask('GET', '/servers')).body.servers).toEqual([one])
    return one.iso
  }
  expect(await shown()).toBeNull()
  for (const given of ['installer', iso.id, `${iso.id}`]) {
    const { action } = await t.act('POST', `${path}/actions/attach_iso`, { iso: given })
    expect(action).toMatchObject({ command: 'attach_iso', resources: [{ id: server.id, type: 'server' }] })
    expect((await t.ask('GET', `/actions/${action.id}`)).body.action.status).toBe('success')
    expect(await shown()).toEqual(iso)
  }
  expect(t.driver.isoOf(await serverId(t))).toBe(id)
  for (let time = 0; time < 2; time++)
    expect((await t.act('POST', `${path}/actions/detach_iso`)).action.command).toBe('detach_iso')
  expect(await shown()).toBeNull()
})
const serverId = async (t: Awaited<ReturnType<typeof hcloudApp>>) =>
  (await t.call('GET', '/servers')).body.items[0].server_id

test('an ISO that does not exist, has not arrived or is of another account is refused', async () => {
  const t = await hcloudApp()
  await uploaded(t)
  const { isos } = (await t.ask('GET', '/isos')).body
  const accountId = await t.makeAccount()
  const stranger = t.callAs(await t.makeToken(['read', 'write', 'account:write'], { accountId }))
  const wanted = { name: 'x', kind: 'hcloud', scopes: ['read', 'write'] }
  const theirs = t.askAs((await stranger('POST', '/account/tokens', wanted)).body.token)
  expect((await theirs('GET', '/isos')).body.isos).toEqual([])
  expect((await theirs('GET', `/isos/${isos[0].id}`)).status).toBe(404)
  const { zone_slug } = (await t.call('GET', '/isos')).body.items[0]
  const coming = { name: 'coming', upload: true, content_bytes: 40_960, zone_slug }
  expect((await t.call('POST', '/isos', coming)).status).toBe(202)
  expect((await t.ask('GET', '/isos')).body.isos).toEqual(isos)
  const { server } = await t.act('POST', '/servers', web)
  const path = `/servers/${server.id}/actions/attach_iso`
  for (const iso of ['none', 'coming', 99_999, server.id])
    expect([iso, (await t.ask('POST', path, { iso })).body.error.code]).toEqual([iso, 'not_found'])
  expect((await t.ask('POST', path, {})).body.error.code).toBe('invalid_input')
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'other' })).body
  const other = t.askAs(await hcloudToken(t, { project_id }))
  expect((await other('POST', path, { iso: 'installer' })).status).toBe(404)
})

test("the operator's ISOs are public, found by slug or number, and have the same number for all", async () => {
  const offered = '{ slug: alpine, title: Debian 13 installer, file: /srv/debian.iso }'
  const catalog = parseCatalog(`${catalogText}\nisos: [${offered}]\n`, 'catalog.yaml')
  const t = await hcloudApp({ catalog })
  await uploaded(t)
  const { isos } = (await t.ask('GET', '/isos')).body
  expect(isos.map(({ type }: { type: string }) => type)).toEqual(['private', 'public'])
  const [, iso] = isos
  expect(iso).toMatchObject({ name: 'alpine', description: 'Debian 13 installer' })
  expect((await t.ask('GET', `/isos/${iso.id}`)).body).toEqual({ iso })
  const accountId = await t.makeAccount()
  const stranger = t.callAs(await t.makeToken(['read', 'write', 'account:write'], { accountId }))
  const wanted = { name: 'x', kind: 'hcloud', scopes: ['read', 'write'] }
  const theirs = t.askAs((await stranger('POST', '/account/tokens', wanted)).body.token)
  expect((await theirs('GET', '/isos')).body.isos).toEqual([iso])
  expect((await theirs('GET', `/isos/${iso.id}`)).body).toEqual({ iso })
  const { server } = await t.act('POST', '/servers', web)
  for (const given of ['alpine', iso.id]) {
    await t.act('POST', `/servers/${server.id}/actions/attach_iso`, { iso: given })
    expect((await t.ask('GET', `/servers/${server.id}`)).body.server.iso).toEqual(iso)
    await t.act('POST', `/servers/${server.id}/actions/detach_iso`)
  }
})
