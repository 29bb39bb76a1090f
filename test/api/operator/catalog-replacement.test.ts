import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { noPeers, type Peers } from '../../../api/processes/peers.ts'
import { catalogText } from '../../harness/app.ts'
import { HASH, MASKED, MIRROR, secretText, withFile } from './harness/catalog.ts'

const BOTH = { scopes: ['operator:read', 'operator:money'] } as const
const commented = `${secretText}\n# the mirror before: ${MIRROR.replace('own', 'old')}\n`
const retitled = (text: string, title = 'Elsewhere') => text.replace('title: This machine', `title: ${title}`)

async function withEditor(text = commented, options: Parameters<typeof withFile>[1] = {}) {
  const made = await withFile(text, { ...BOTH, ...options })
  const { call } = made
  const read = async () => (await call('GET', '/operator/catalog')).body as { text: string; hash: string }
  const put = (next: string, hash: string) => call('PUT', '/operator/catalog', { text: next, hash })
  /** The messages of a refused change. */
  const faults = async (change: (text: string) => string): Promise<string> => {
    const { text: shown, hash } = await read()
    expect(change(shown)).not.toBe(shown)
    const { status, body } = await put(change(shown), hash)
    expect([status, body.code]).toEqual([422, 'validation_failed'])
    return body.errors.map(({ message }: { message: string }) => message).join('\n')
  }
  return { ...made, read, put, faults, onDisk: () => readFileSync(made.file, 'utf8') }
}

test('an operator’s text is written to the file unchanged, takes effect at once, and the previous text is kept beside it', async () => {
  const { t, read, put, onDisk, file, folder, opened } = await withEditor()
  chmodSync(file, 0o664)
  const { text, hash } = await read()
  const preset = '  - { slug: giant, cpu: 32, ram_mb: 65536, disk_gb: 1000 } # for Ann\n'
  const next = retitled(text).replace(/^presets:\n/m, (line) => line + preset)
  const { status, body } = await put(next, hash)
  expect([status, body.differences]).toEqual([200, ['zone local-1: changed', 'preset giant: added']])
  expect(await read()).toMatchObject({ text: next, hash: body.hash, in_force_since: body.in_force_since })
  expect((await t.call('GET', '/zones')).body[0].title).toBe('Elsewhere')
  // Comments stay, and masked addresses are those that were in force.
  expect(onDisk()).toContain(preset)
  expect(onDisk().match(/s3cret/g)).toHaveLength(2)
  expect(onDisk()).toContain(`# the mirror before: ${MIRROR.replace('own', 'old')}\n`)
  expect(statSync(file).mode & 0o777).toBe(0o664)
  expect(readFileSync(path.join(folder, 'catalog.previous.yaml'), 'utf8')).toBe(commented)
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([])
  // The watcher still reports the change, once.
  expect([await opened.look(0), await opened.look(0)]).toEqual([{ fault: null }, null])
  const repeated = await put(next, hash)
  expect([repeated.status, repeated.body.differences, repeated.body.hash]).toEqual([200, [], body.hash])
})

test('if two operators change the same text, one is refused', async () => {
  const { read, put, onDisk, write } = await withEditor()
  const { text, hash } = await read()
  const replies = await Promise.all(['One', 'Two', 'Three'].map((title) => put(retitled(text, title), hash)))
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  expect(replies.find(({ status }) => status === 409)?.body.code).toBe('catalog_changed')
  const [winner] = ['One', 'Two', 'Three'].filter((_, at) => replies[at]?.status === 200)
  expect(onDisk()).toContain(`title: ${winner}`)
  // An edit on the host that nobody has looked at yet counts, too.
  const again = await read()
  write(retitled(commented, 'By hand'))
  expect((await put(retitled(text, 'Four'), again.hash)).body.code).toBe('catalog_changed')
  expect(onDisk()).toContain('title: By hand')
})

test('a text with mistakes, or with a price that is probably a mistake, changes nothing', async () => {
  const { read, put, faults, onDisk } = await withEditor()
  expect(await faults((text) => text.replace('cpu_types: [amd, intel]', 'cpu_types: [arm]'))).toMatch(
    /^catalog\.yaml:\d+: .*must be one of amd, intel/,
  )
  expect(await faults((text) => `${text}\n"zones": []\n`)).toMatch(/zones is there twice/)
  expect(await faults((text) => `${text}\nisos: [${','.repeat(60_000)}]`)).toContain('too many parts')
  const slip = (text: string, more = '') =>
    text.replace(
      /^prices:\n/m,
      `prices:\n  - { active_from: 2027-01-01, zone_slug: local-1, cpu_type: amd, cpu_month_rub: "900.00", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00"${more} }\n`,
    )
  expect(await faults((text) => slip(text))).toContain('changes more than twofold')
  expect(onDisk()).toBe(commented)
  const { text, hash } = await read()
  expect((await put(slip(text, ', large_change: true'), hash)).status).toBe(200)
})

test('no text changes what reaches the host, is fetched by it, or takes the money of customers', async () => {
  const iso = `isos: [{ slug: own, title: Own, url: "https://x.example.com/x.iso", sha256: ${HASH} }]\n`
  const operator = 'operator: { name: Host, payment_url: "https://pay.example.com/?a={account_id}" }\n'
  const { faults, onDisk, read, put } = await withEditor(`${secretText}\n${iso}${operator}`)
  const before = onDisk()
  const zone = (fields: string) => (text: string) =>
    text.replace('title: This machine', `title: A\n    ${fields}`)
  const source = (from: string, to: string) => (text: string) => text.replace(from, to)
  const template = `  - { slug: mine, title: A, os_family: linux, min_disk_gb: 1, default_username: a, image: [{ file: /etc/shadow }] }\n`
  const changes: [place: string, change: (text: string) => string][] = [
    ['zones.local-1.driver', zone('driver: simulator')],
    ['zones.local-1.public_ipv4', zone('public_ipv4: [203.0.113.0/24]')],
    ['zones.local-1.public_ipv6', zone('public_ipv6: 2001:db8::/48')],
    ['zones.local-1.overcommit', source('ram: 1,', 'ram: 9,')],
    ['templates.micro.image', source(`url: "${MASKED}", sha256: ${HASH}`, 'file: /etc/shadow')],
    ['templates.micro.image', source(`url: "${MASKED}"`, 'url: "https://evil.example.com/x"')],
    [
      'templates.micro.image',
      source(`sha256: ${HASH}`, 'unsigned: true, checksums_url: https://a.example.com/'),
    ],
    ['templates.micro.incus', source('- slug: micro', '- slug: micro\n    incus: { file: /etc/shadow }')],
    ['templates.mine', source('templates:\n', `templates:\n${template}`)],
    ['isos.own.file', source('url: "https://x.example.com/x.iso"', 'file: /dev/sda')],
    ['isos.own.sha256', source(`x.iso", sha256: ${HASH}`, `x.iso", sha256: ${'e'.repeat(64)}`)],
    ['isos.own', source(iso, '')],
    ['operator.payment_url', source('Host, payment_url: "https://pay', 'Host, payment_url: "https://evil')],
    [
      'operator.seller.bank',
      source(
        'name: Host',
        'name: Host, seller: { name: A, address: B, tax_id: "1", first_month: 2027-01, bank: { name: A, account: "1", bic: "1" } }',
      ),
    ],
    // Customers would read the secret.
    ['zones.0.title', source('title: This machine', `title: "${MASKED}"`)],
    ['zones.0.title', source('title: This machine', `title: |\n      # ${MASKED}`)],
  ]
  for (const [place, change] of changes) {
    const message = await faults(change)
    expect(message).toContain(`${place} `)
    expect(message).toMatch(/in the file on the host only|stands for none in force/)
    expect(message).not.toMatch(/s3cret|X-Signature/)
  }
  const incus = zone(
    'driver: incus\n    incus: { addresses: ["unix:/x"], instances: container, nameservers: [1.1.1.1] }',
  )
  expect(await faults(incus)).toContain('zones.local-1.incus can be changed in the file on the host only')
  expect(onDisk()).toBe(before)
  const { text, hash } = await read()
  expect((await put(retitled(text).replace('name: Host', 'name: Hoster'), hash)).status).toBe(200)
})

test('a file that the service can’t or must not write is left alone, with the reason', async () => {
  const { read, put, onDisk, write, folder, opened, file } = await withEditor()
  const { text, hash } = await read()
  const refusal = async () => {
    const { status, body } = await put(retitled(text), hash)
    expect([status, body.code]).toEqual([409, 'catalog_not_writable'])
    return body.detail
  }
  mkdirSync(path.join(folder, 'catalog.previous.yaml'))
  expect(await refusal()).toMatch(
    /can't replace the file or write beside it \(E\w+\).*edit the file on the host/,
  )
  expect(onDisk()).toBe(commented)
  write('zones: [')
  expect(await refusal()).toContain('a later version with mistakes, which would be lost: catalog.yaml: ')
  expect(onDisk()).toBe('zones: [')
  rmSync(file)
  expect(await refusal()).toContain('catalog.yaml')
  write(commented)
  await opened.look(0)
  rmSync(path.join(folder, 'catalog.previous.yaml'), { recursive: true })
  expect((await put(retitled(text), hash)).status).toBe(200)
})

test('processes that read several files are not left with different prices', async () => {
  const peers: Peers = {
    ...noPeers(),
    living: (db) => db.selectFrom('processes').select(['process_id', 'host', 'catalog_file']),
  }
  const { t, read, put } = await withEditor(commented, { app: { peers } })
  const row = { role: 'all', pid: 1, started_at: 0, seen_at: 0, takes_pools: 0, host: 'one' } as const
  const add = (process_id: string, catalog_file: string | null) =>
    t.db
      .insertInto('processes')
      .values({ ...row, process_id, catalog_file })
      .execute()
  await add('a', '/srv/catalog.yaml')
  const { text, hash } = await read()
  await add('b', '/var/lib/berth/catalog.yaml')
  expect((await put(retitled(text), hash)).body).toMatchObject({
    code: 'catalog_not_writable',
    detail: expect.stringContaining('several files: one:/srv/catalog.yaml, one:/var/lib/berth/catalog.yaml.'),
  })
  await t.db.updateTable('processes').set({ catalog_file: null }).where('process_id', '=', 'b').execute()
  expect((await put(retitled(text), hash)).body.detail).toContain('a process of an earlier version')
  await t.db.updateTable('processes').set({ catalog_file: '/srv/catalog.yaml' }).execute()
  expect((await put(retitled(text), hash)).status).toBe(200)
})

test('a text that lacks an entry that a customer orders meanwhile is rolled back', async () => {
  let [checks, presetId] = [0, '']
  const servers = async () => {
    checks += 1
    const micro = { zone_slug: 'local-1', cpu_type: 'amd', template_id: '', preset_id: presetId } as const
    return checks > 2 ? [micro] : []
  }
  const { opened, read, put, onDisk, folder } = await withEditor(commented, { ordered: servers })
  presetId = opened.catalog.presets[0]?.presetId ?? ''
  const { text, hash } = await read()
  const [line = ''] = /^ {2}- \{ slug: nano,.*\n/m.exec(text) ?? []
  const { status, body } = await put(text.replace(line, ''), hash)
  expect([status, body.errors?.[0].message]).toEqual([422, expect.stringContaining('preset nano is missing')])
  expect(onDisk()).toBe(commented)
  expect(readFileSync(path.join(folder, 'catalog.previous.yaml'), 'utf8')).toBe(commented)
  expect(opened.fault).toBeNull()
})

test('a shop’s token, which has no scope for money, changes no prices', async () => {
  const { put, read, onDisk } = await withEditor(catalogText, { scopes: ['operator:read', 'operator:write'] })
  const { text, hash } = await read()
  const { status, body } = await put(retitled(text), hash)
  expect([status, body.code]).toEqual([403, 'insufficient_scope'])
  expect(onDisk()).toBe(catalogText)
})
