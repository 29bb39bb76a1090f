import { expect, test } from 'vitest'
import { operatorScopes } from '../../api/http/contract/auth.ts'
import { createOperatorToken } from '../../api/operator/tokens.ts'
import { isBerthError } from '../../sdk/index.ts'
import { ed25519 } from '../api/harness/keys.ts'
import { chargeHour } from '../harness/invoiced.ts'
import { pdfText } from '../harness/pdf-text.ts'
import { BANK, selling } from '../harness/seller.ts'
import { meanwhile, type Service, service } from './harness/client.ts'

test('the account’s resources are created, read, changed and deleted', async () => {
  const { berth } = await service()
  const me = await berth.account.get()
  expect(await berth.account.balance()).toMatchObject({ balance: '10000.00', hours_left: null })
  expect((await berth.transactions.list()).total).toBe(1)

  const project = await berth.projects.create({ name: 'Shop' })
  expect(await berth.projects.update(project.project_id, { name: 'Café' })).toMatchObject({ name: 'Café' })
  expect((await berth.projects.list({ limit: 1 })).total).toBe(2)
  expect(await berth.projects.delete(project.project_id)).toBeUndefined()
  expect((await berth.projects.list()).items.map(({ project_id }) => project_id)).toEqual([
    me.default_project_id,
  ])

  const key = await berth.sshKeys.create({ name: 'laptop', public_key: ed25519() })
  expect(await berth.sshKeys.get(key.ssh_key_id)).toEqual(key)
  await berth.sshKeys.delete(key.ssh_key_id)
  expect((await berth.sshKeys.list()).items).toEqual([])

  const made = await berth.tokens.create({ name: 'ci', scopes: ['servers:read'] })
  expect(made.token).toMatch(/^berth_/)
  await berth.tokens.delete(made.token_id)
  expect((await berth.tokens.list()).items.map(({ token_id }) => token_id)).not.toContain(made.token_id)

  expect(await berth.usage.get({ month: '2026-11' })).toMatchObject({ month: '2026-11' })
  expect(await berth.usage.csv()).toContain('server_id')
})

test('documents are listed, read, and downloaded as a PDF', async () => {
  const t = await service(selling())
  const { berth } = t
  t.clock.advance(Date.parse('2026-12-01T00:00:00Z') - t.clock.now())
  await t.app.billing.look()
  const [listed] = await Array.fromAsync(berth.documents.listAll())
  const id = listed?.document_id ?? ''
  expect((await berth.documents.list({ limit: 1 })).items).toEqual([listed])
  expect(await berth.documents.get(id)).toMatchObject({ ...listed, seller: { tax_id: '7700000000' } })
  expect(await berth.documents.csv(id)).toContain('closing_balance')
  const pdf = await berth.documents.pdf(id)
  expect(pdfText(Buffer.from(await pdf.arrayBuffer()))).toContain('Statement No. 1')
})

test('an operator corrects an invoice, and its customer reads the correction', async () => {
  const t = await service(selling())
  const { berth } = t
  const item_id = await chargeHour(t, t.accountId)
  t.clock.advance(Date.parse('2026-12-01T00:00:00Z') - t.clock.now())
  await t.app.billing.look()
  const [invoice] = (await berth.documents.list()).items
  const id = invoice?.document_id ?? ''
  const year = { name: 'shop', cidrs: ['127.0.0.0/8'], createdBy: 'root', expiresAt: t.clock.now() + 1e7 }
  const token = await createOperatorToken(t.db, t.clock, { ...year, scopes: operatorScopes })
  const { operator } = t.client({ token: token.value })
  expect((await operator.document(t.accountId, id)).projects[0]?.items[0]?.item_id).toBe(item_id)
  const note = await operator.correctDocument(t.accountId, id, {
    ...{ type: 'credit_note', lines: [{ amount_rub: '12', item_id }] },
    ...{ reason: 'An outage', reference: 'c-1' },
  })
  expect(note).toMatchObject({ number: '2', total_rub: '-12.00', corrects: { number: invoice?.number } })
  expect(await berth.documents.get(note.document_id)).toEqual(note)
  expect((await berth.documents.get(id)).corrections.map(({ number }) => number)).toEqual(['2'])
})

test('an invoice for a bank transfer is asked for and read', async () => {
  const { berth } = await service(selling({ bank: BANK }))
  const made = await berth.transfers.create('5000')
  expect(await berth.transfers.get(made.transfer_id)).toEqual(made)
  expect((await berth.transfers.list()).items).toEqual([made])
  const pdf = Buffer.from(await (await berth.transfers.pdf(made.transfer_id)).arrayBuffer())
  expect(pdfText(pdf)).toContain(made.reference)
  expect(await Array.fromAsync(berth.transfers.listAll())).toEqual([made])
})

test('the catalogue can be read, and a server quoted before it is ordered', async () => {
  const { berth, order } = await service()
  const where = { zone_slug: 'local-1', cpu_type: 'amd' } as const
  expect((await berth.zones.list()).map(({ zone_slug }) => zone_slug)).toEqual(['local-1'])
  expect((await berth.presets.list(where)).length).toBeGreaterThan(3)
  expect(await berth.limits.get(where)).toMatchObject({ cpu: { min: 1 } })
  expect((await berth.capacity.list({ zone_slug: 'local-1' })).length).toBe(2)
  expect(await berth.quote(await order())).toMatchObject({ can_create: true, blockers: [] })
})

test('a server is ordered, changed, stopped, started, rebooted and deleted; each operation is waited for', async () => {
  const t = await service()
  const { berth } = t
  const server = await berth.servers.create({ ...(await t.order()), name: 'web-1' })
  const created = await meanwhile(t, berth.operations.wait(server))
  expect(created).toMatchObject({ type: 'create', status: 'succeeded', progress: 100 })
  const id = server.server_id
  expect(await berth.servers.update(id, { labels: { env: 'prod' } })).toMatchObject({
    labels: { env: 'prod' },
  })
  expect(await berth.servers.details(id)).toMatchObject({ ssh: { is_ready: true } })
  expect(await berth.servers.stats(id)).toMatchObject({ server_id: id })
  expect(await berth.servers.metrics(id, { type: 'cpu' })).toMatchObject({ server_id: id })

  await meanwhile(t, berth.operations.wait(await berth.servers.reboot(id)))
  await meanwhile(t, berth.operations.wait(await berth.servers.stop(id, { force: true })))
  const resized = await berth.servers.update(id, { cpu: 2 })
  expect(resized.status).toBe('resizing')
  await meanwhile(t, berth.operations.wait(resized))
  await meanwhile(t, berth.operations.wait(await berth.servers.start(id)))
  expect(await berth.servers.get(id)).toMatchObject({ status: 'running', cpu: 2 })

  expect((await berth.operations.list({ subject_id: id, limit: 1 })).total).toBe(5)
  expect((await berth.operations.list({ subject_id: id, type: 'resize' })).total).toBe(1)
  expect(await Array.fromAsync(berth.operations.listAll({ type: 'create' }))).toEqual([created])
  expect(await berth.operations.get(created.operation_id)).toEqual(created)
  expect((await berth.servers.operations(id, { limit: 1 })).total).toBe(5)
  expect(await berth.servers.operation(id, created.operation_id)).toEqual(created)
  await meanwhile(t, berth.operations.wait(await berth.servers.delete(id)))
  const gone = await berth.servers.get(id).catch((error: unknown) => error)
  expect(isBerthError(gone, 'server_not_found')).toBe(true)
})

test('a change can be bound to the state that it is based on', async () => {
  const { berth, make } = await service()
  const { server_id } = await make()
  let ifMatch: string | undefined
  await berth.servers.get(server_id, {
    onReply: ({ headers }) => {
      ifMatch = headers.get('etag') ?? undefined
    },
  })
  await berth.servers.update(server_id, { description: 'first' }, { ifMatch })
  const second = berth.servers.update(server_id, { description: 'second' }, { ifMatch })
  await expect(second).rejects.toMatchObject({ code: 'precondition_failed', status: 412 })
})

test('any route can be called by its name', async () => {
  const { berth } = await service()
  const zones = await berth.request('GET /zones', {})
  expect(zones[0]?.zone_slug).toBe('local-1')
})

/** More projects than a page has, put where the API would put them: its quota is 50. */
async function addProjects({ db, accountId, clock }: Service, first: number, count: number): Promise<void> {
  const at = clock.now()
  const row = (number: number) => ({
    project_id: `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`,
    account_id: accountId,
    name: `Project ${number}`,
    description: null,
    server_count: 0,
    created_at: at + number,
    updated_at: at + number,
  })
  const rows = Array.from({ length: count }, (_, at) => row(first + at))
  await db.insertInto('projects').values(rows).execute()
}

test('lists can be walked to their end, and left before it', async () => {
  const t = await service()
  await addProjects(t, 1, 450)
  const names: string[] = []
  for await (const { name } of t.berth.projects.listAll()) names.push(name)
  expect([names.length, new Set(names).size]).toEqual([451, 451])

  let asked = 0
  const onReply = () => {
    asked += 1
  }
  for await (const { name } of t.berth.projects.listAll({ onReply })) if (name === names[1]) break
  expect(asked).toBe(1)
})

test('objects created during a walk through a list make none appear twice', async () => {
  const t = await service()
  await addProjects(t, 1, 450)
  const seen: string[] = []
  for await (const { project_id } of t.berth.projects.listAll()) {
    if (seen.length === 0) await addProjects(t, 451, 1)
    seen.push(project_id)
  }
  expect([seen.length, new Set(seen).size]).toEqual([451, 451])
})

test('events and the audit log can be walked from a given event on', async () => {
  const { berth } = await service()
  const { project_id } = await berth.projects.create({ name: 'Shop' })
  const [first] = (await berth.events.list({ limit: 1 })).items
  for (let at = 0; at < 210; at += 1) await berth.projects.update(project_id, { description: `${at}` })
  const ids = new Set<string>()
  for await (const { event_id } of berth.events.listAll({ after: first?.event_id })) ids.add(event_id)
  expect(ids.size).toBe((await berth.events.list({ after: first?.event_id, limit: 1 })).total)
  expect((await Array.fromAsync(berth.audit.listAll())).length).toBe(211)
})

test('servers can be walked by what they are', async () => {
  const { berth, make } = await service()
  await make('web-1')
  await make('web-2')
  const walk = async (filter: Parameters<typeof berth.servers.listAll>[0]) => {
    const names: string[] = []
    for await (const { name } of berth.servers.listAll(filter)) names.push(name)
    return names
  }
  expect(await walk({ status: 'running', sort: 'name' })).toEqual(['web-1', 'web-2'])
  expect(await walk({ name: 'web-2' })).toEqual(['web-2'])
  expect(await walk({ status: 'stopped' })).toEqual([])
})
