import { expect, test } from 'vitest'
import { hcloudApp } from './harness.ts'

const web = { name: 'web', server_type: 'nano', image: 'micro' }

test('a list with a page, sort or selector that has no meaning is invalid input, of servers and of others', async () => {
  const t = await hcloudApp()
  const pages = ['per_page=0', 'per_page=-1', 'per_page=1e3', 'per_page=', 'page=0', 'page=99999999999']
  const sorts = ['labels', 'id:down', 'id;drop', 'name desc,(select 1)', '']
  const selectors = ['a'.repeat(5_000), `a in (${'x,'.repeat(93)}x)`, '\0']
  const queries = [
    ...[...pages, 'page=1%00', 'page=x'],
    ...sorts.map((sort) => `sort=${encodeURIComponent(sort)}`),
    ...selectors.map((selector) => `label_selector=${encodeURIComponent(selector)}`),
  ]
  for (const many of ['servers', 'ssh_keys', 'volumes', 'images'])
    for (const query of queries) {
      const { status, body } = await t.ask('GET', `/${many}?${query}`)
      expect([many, query, status, body.error?.code]).toEqual([many, query, 422, 'invalid_input'])
    }
})

test('a page far beyond the last is empty, and one larger than allowed has 50', async () => {
  const t = await hcloudApp()
  const { server } = await t.act('POST', '/servers', web)
  for (const [path, many] of [
    ['/servers', 'servers'],
    ['/ssh_keys', 'ssh_keys'],
    [`/servers/${server.id}/actions`, 'actions'],
  ] as const) {
    const far = await t.ask('GET', `${path}?page=999999999&per_page=50`)
    expect([path, far.status, far.body[many]]).toEqual([path, 200, []])
    const large = (await t.ask('GET', `${path}?per_page=1000`)).body.meta.pagination
    expect([path, large.per_page]).toEqual([path, 50])
  }
})

test('text that is not a number, and a number of another kind, name nothing', async () => {
  const t = await hcloudApp()
  const { server, action } = await t.act('POST', '/servers', web)
  const wrong = ['0', '-1', '1.5', '1e3', '99999999999999999999', 'NaN', '0x1', '%2e%2e', "1'--"]
  const kinds = ['servers', 'volumes', 'images', 'actions', 'networks', 'firewalls', 'primary_ips']
  const others = ['volumes', 'actions', 'images'].map((many) => `/${many}/${server.id}`)
  const paths = kinds.flatMap((many) => wrong.map((number) => `/${many}/${number}`))
  for (const path of [...paths, ...others, `/servers/${action.id}`])
    expect([path, (await t.ask('GET', path)).status]).toEqual([path, 404])
})

test('too many and too long labels are refused, and those named like members of objects are data', async () => {
  const t = await hcloudApp()
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`l${at}`, 'x']))
  for (const labels of [many, { a: 'x'.repeat(10_000) }, { ['k'.repeat(500)]: 'x' }])
    expect((await t.ask('POST', '/servers', { ...web, labels })).body.error.code).toBe('invalid_input')
  const labels = { constructor: 'x' }
  const { server } = await t.act('POST', '/servers', { ...web, labels })
  const found = async (selector: string) =>
    (await t.ask('GET', `/servers?label_selector=${selector}`)).body.servers.length
  expect([await found('constructor%3Dx'), await found('toString')]).toEqual([1, 0])
  expect((await t.ask('GET', `/servers/${server.id}`)).body.server.labels).toEqual(labels)
})
