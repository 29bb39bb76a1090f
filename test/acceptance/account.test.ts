import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { ed25519, pack, privateKey, rsa } from '../api/harness/keys.ts'
import { add, call, fresh, issues, make, makeStopped, NOBODY, remove } from './harness/client.ts'

// ---- projects ----

test('POST /account/projects answers 201 with a bare Project, and Location', async (t) => {
  const project = { name: fresh('shop'), description: 'What we sell' }
  const reply = await call('POST', '/account/projects', project)
  const { project_id } = reply.body
  t.onTestFinished(async () => void (await call('DELETE', `/account/projects/${project_id}`)))
  expect(reply).toMatchObject({
    status: 201,
    headers: { location: `/v1/account/projects/${project_id}` },
    body: { ...project, is_default: false, server_count: 0 },
  })
  const { items, total } = (await call('GET', '/account/projects')).body
  expect(items[0]).toEqual(reply.body)
  expect(total).toBe(items.length)
})

/** One code point each, of one to four UTF-8 bytes and of one or two UTF-16 units; the last two combine. */
const characters = ['a', 'ж', '漢', '😀', '\u0301', '\u{E0100}']

test('a project name has at most 64 characters, counted in Unicode code points', async (t) => {
  for (const character of characters) {
    // A name of nothing but marks is still something that is seen.
    const name = character.repeat(64)
    expect((await add(t, 'projects', { name })).name).toBe(name)
    const longer = await call('POST', '/account/projects', { name: `${name}${character}` })
    expect([longer.status, issues(longer)]).toEqual([422, [['/name', 'too_long']]])
  }
})

test('a project description has at most 255 characters, and may be null or absent', async (t) => {
  for (const character of characters) {
    const description = character.repeat(255)
    const made = await add(t, 'projects', { name: 'x', description })
    expect(made.description).toBe(description)
    const path = `/account/projects/${made.project_id}`
    const longer = await call('PATCH', path, { description: `${description}${character}` })
    expect([longer.status, issues(longer)]).toEqual([422, [['/description', 'too_long']]])
  }
  expect((await add(t, 'projects', { name: 'x', description: null })).description).toBeNull()
  expect((await add(t, 'projects', { name: 'x' })).description).toBeNull()
})

test('a project name is required, and something must be seen of it', async () => {
  const tries: [body: unknown, pointer: string, code: string][] = [
    [{}, '/name', 'required'],
    [{ description: 'x' }, '/name', 'required'],
    [{ name: null }, '/name', 'wrong_type'],
    [{ name: 5 }, '/name', 'wrong_type'],
    [{ name: '' }, '/name', 'too_short'],
    [{ name: ' \t ' }, '/name', 'invalid_format'],
    [{ name: 'x', description: 5 }, '/description', 'wrong_type'],
  ]
  for (const [body, pointer, code] of tries) {
    const reply = await call('POST', '/account/projects', body)
    expect([body, reply.status, issues(reply)]).toEqual([body, 422, [[pointer, code]]])
  }
})

test('PATCH /account/projects/{project_id} answers 200 with the full Project', async (t) => {
  const made = await add(t, 'projects', { name: 'before', description: 'old' })
  const path = `/account/projects/${made.project_id}`
  const patch = async (body: unknown) => call('PATCH', path, body)
  expect(await patch({ name: 'after' })).toMatchObject({
    status: 200,
    body: { ...made, name: 'after', updated_at: expect.any(String) },
  })
  expect((await patch({ description: 'new' })).body).toMatchObject({ name: 'after', description: 'new' })
  expect((await patch({ description: null })).body).toMatchObject({ name: 'after', description: null })
  expect((await patch({ name: 'both', description: 'x' })).body).toMatchObject({
    name: 'both',
    description: 'x',
  })
  for (const body of [{}, { name: null }, { name: '' }, { name: '  ' }, { is_default: true }])
    expect([body, (await patch(body)).status]).toEqual([body, 422])
  const { items } = (await call('GET', '/account/projects')).body
  expect(items).toContainEqual(expect.objectContaining({ project_id: made.project_id, name: 'both' }))
})

test('DELETE /account/projects/{project_id} answers 204; afterwards it is a 404', async (t) => {
  const { project_id } = await add(t, 'projects', { name: 'short-lived' })
  const path = `/account/projects/${project_id}`
  expect(await call('DELETE', path)).toMatchObject({ status: 204, body: '' })
  for (const reply of [await call('DELETE', path), await call('PATCH', path, { name: 'x' })])
    expect(reply).toMatchObject({ status: 404, body: { code: 'project_not_found' } })
})

test('the default project, and a project with servers, cannot be deleted', async (t) => {
  const { default_project_id } = (await call('GET', '/account/me')).body
  expect(await call('DELETE', `/account/projects/${default_project_id}`)).toMatchObject({
    status: 409,
    body: { code: 'project_is_default' },
  })
  const { project_id } = await add(t, 'projects', { name: 'full' })
  const server = await make(t, { project_id, start_on_create: false })
  expect(server.project_id).toBe(project_id)
  const path = `/account/projects/${project_id}`
  expect(await call('DELETE', path)).toMatchObject({ status: 409, body: { code: 'project_not_empty' } })
  await remove(server.server_id)
  expect((await call('DELETE', path)).status).toBe(204)
})

test('GET /account/projects/{project_id} is where Location leads, with an ETag for the next change', async (t) => {
  const made = await add(t, 'projects', { name: 'one' })
  const path = `/account/projects/${made.project_id}`
  const { status, body, headers } = await call('GET', path)
  expect([status, body]).toEqual([200, made])
  expect((await call('PATCH', path, { name: 'two' }, { 'if-match': headers.etag ?? '' })).status).toBe(200)
  expect((await call('PATCH', path, { name: 'three' }, { 'if-match': headers.etag ?? '' })).status).toBe(412)
  expect(await call('GET', `/account/projects/${NOBODY}`)).toMatchObject({
    status: 404,
    body: { code: 'project_not_found' },
  })
})

// ---- SSH keys ----

test('POST /account/ssh_keys answers 201 with the key, its fingerprint as OpenSSH prints it', async (t) => {
  const key = ed25519('ann@laptop')
  const made = await add(t, 'ssh_keys', { name: 'laptop', public_key: key })
  expect(made).toMatchObject({ name: 'laptop', public_key: key, key_type: 'ssh-ed25519' })
  expect(made.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/)
  const path = `/account/ssh_keys/${made.ssh_key_id}`
  expect((await call('GET', path)).body).toEqual(made)
  const { items, total } = (await call('GET', '/account/ssh_keys')).body
  expect([items[0], total]).toEqual([made, items.length])
  expect((await call('DELETE', path)).status).toBe(204)
  expect(await call('GET', path)).toMatchObject({ status: 404, body: { code: 'ssh_key_not_found' } })
})

test('both name and public_key of an SSH key are required', async () => {
  expect(issues(await call('POST', '/account/ssh_keys', {})).sort()).toEqual([
    ['/name', 'required'],
    ['/public_key', 'required'],
  ])
  const long = await call('POST', '/account/ssh_keys', { name: '😀'.repeat(65), public_key: ed25519() })
  expect(issues(long)).toEqual([['/name', 'too_long']])
})

test('anything but a public key of an accepted kind is invalid_public_key', async () => {
  const dsa = generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 })
  const bad = [
    'garbage',
    'ssh-ed25519',
    'ssh-ed25519 AAAA',
    privateKey(),
    `command="ls" ${ed25519()}`,
    `${ed25519()}\n${ed25519()}`,
    rsa(1024),
    `ssh-dss ${pack('ssh-dss', dsa.publicKey.export({ type: 'spki', format: 'der' })).toString('base64')}`,
  ]
  for (const public_key of bad) {
    const reply = await call('POST', '/account/ssh_keys', { name: 'x', public_key })
    expect([public_key, reply.status, issues(reply)]).toEqual([
      public_key,
      422,
      [['/public_key', 'invalid_public_key']],
    ])
  }
})

test('a key with the fingerprint of one that is there is ssh_key_exists, and names it', async (t) => {
  const public_key = ed25519()
  const { ssh_key_id } = await add(t, 'ssh_keys', { name: 'first', public_key })
  const again = { name: 'second', public_key: `${public_key} with a comment` }
  expect(await call('POST', '/account/ssh_keys', again)).toMatchObject({
    status: 409,
    body: { code: 'ssh_key_exists', ssh_key_id },
  })
})

test('deleting an SSH key never touches servers', async (t) => {
  const key = await add(t, 'ssh_keys', { name: 'gone', public_key: ed25519() })
  const { server_id } = await makeStopped(t, { ssh_key_ids: [key.ssh_key_id] })
  expect((await call('DELETE', `/account/ssh_keys/${key.ssh_key_id}`)).status).toBe(204)
  const { body } = await call('GET', `/servers/${server_id}/details`)
  expect(body).toMatchObject({
    ssh_key_ids: [key.ssh_key_id],
    ssh: { keys: [{ ssh_key_id: key.ssh_key_id, name: 'gone', fingerprint: key.fingerprint }] },
  })
})

test('PATCH /account/ssh_keys/{ssh_key_id} renames a key, and nothing else of it', async (t) => {
  const made = await add(t, 'ssh_keys', { name: 'before', public_key: ed25519() })
  const path = `/account/ssh_keys/${made.ssh_key_id}`
  const renamed = { ...made, name: 'after' }
  expect(await call('PATCH', path, { name: 'after' })).toMatchObject({ status: 200, body: renamed })
  expect((await call('GET', path)).body).toEqual(renamed)
  for (const body of [{}, { name: null }, { name: ' ' }, { public_key: ed25519() }])
    expect([body, (await call('PATCH', path, body)).status]).toEqual([body, 422])
  expect(await call('PATCH', `/account/ssh_keys/${NOBODY}`, { name: 'x' })).toMatchObject({
    status: 404,
    body: { code: 'ssh_key_not_found' },
  })
})

// ---- people ----

test('somebody is invited by mail and withdrawn again; a token makes no owner', async () => {
  const email = `${fresh('ann')}@berth.invalid`
  const made = await call('POST', '/account/invitations', { email: email.toUpperCase(), role: 'viewer' })
  const { invitation_id } = made.body
  const path = `/account/invitations/${invitation_id}`
  expect(made).toMatchObject({
    status: 201,
    headers: { location: `/v1${path}` },
    body: { email, role: 'viewer', invited_by: null },
  })
  const listed = (await call('GET', '/account/invitations')).body.items
  expect(listed).toContainEqual(made.body)
  expect(JSON.stringify(listed)).not.toContain('token')
  expect((await call('DELETE', path)).status).toBe(204)
  expect((await call('DELETE', path)).body.code).toBe('invitation_not_found')
  const owner = await call('POST', '/account/invitations', { email, role: 'owner' })
  expect([owner.status, owner.body.code]).toEqual([403, 'role_not_allowed'])
})

test('GET /account/members lists people with their roles; tokens are none of them', async () => {
  const { items, total } = (await call('GET', '/account/members')).body
  expect(items).toHaveLength(total)
  expect((await call('PATCH', `/account/members/${NOBODY}`, { role: 'viewer' })).body.code).toBe(
    'member_not_found',
  )
  expect((await call('DELETE', `/account/members/${NOBODY}`)).body.code).toBe('member_not_found')
})

// ---- profile and money ----

test('GET /account/me shows the account, the token that asks, and each quota with its use', async (t) => {
  const before = (await call('GET', '/account/me')).body
  expect(before).toMatchObject({ status: 'active', email: expect.stringContaining('@'), person: null })
  expect(before.scopes).toEqual(['account:read', 'account:write', 'servers:read', 'servers:write'])
  const projects = (await call('GET', '/account/projects?limit=200')).body.items
  expect(projects).toContainEqual(
    expect.objectContaining({ project_id: before.default_project_id, is_default: true }),
  )
  await add(t, 'projects', { name: 'one' })
  await add(t, 'ssh_keys', { name: 'one', public_key: ed25519() })
  await add(t, 'tokens', { name: 'one', scopes: ['account:read'] })
  const { cpu, ram_mb, disk_gb } = await makeStopped(t)
  const { quotas } = (await call('GET', '/account/me')).body
  const grown = { projects: 1, ssh_keys: 1, tokens: 1, webhooks: 0, servers: 1, cpu, ram_mb, disk_gb }
  for (const [name, by] of Object.entries(grown))
    expect([name, quotas[name]]).toEqual([
      name,
      { limit: before.quotas[name].limit, used: before.quotas[name].used + by },
    ])
})

test('GET /account/balance shows rubles as strings, and how long they last', async () => {
  const { body } = await call('GET', '/account/balance')
  expect(body).toMatchObject({ currency: 'RUB', balance: expect.stringMatching(/^-?\d+\.\d\d$/) })
  const hour = Number(body.cost_hour_rub)
  const hours = hour === 0 ? null : Math.floor(Number(body.balance) / hour)
  expect(body.hours_left).toBe(hours)
})

test('GET /account/transactions lists the ledger, whose newest entry carries the balance', async () => {
  const { items, total } = (await call('GET', '/account/transactions')).body
  expect(total).toBeGreaterThan(0)
  expect(items[0].balance_after).toBe((await call('GET', '/account/balance')).body.balance)
  const sum = items.reduce((cents: number, { amount }: { amount: string }) => cents + Number(amount) * 100, 0)
  if (total === items.length) expect((sum / 100).toFixed(2)).toBe(items[0].balance_after)
})

test('GET /account/usage adds up what a month was charged with, and its CSV says the same', async () => {
  const { month, amount, items } = (await call('GET', '/account/usage')).body
  expect(month).toMatch(/^20\d\d-\d\d$/)
  const sum = items.reduce((cents: number, item: { amount: string }) => cents + Number(item.amount) * 100, 0)
  expect((sum / 100).toFixed(2)).toBe(amount)
  const csv = await call('GET', `/account/usage.csv?month=${month}`)
  expect(csv.headers['content-type']).toContain('text/csv')
  const [head, ...lines] = String(csv.body).trim().split('\r\n')
  expect(head).toBe('month,item_type,item_id,item_name,server_id,server_name,project_id,hours,amount_rub')
  expect(lines).toHaveLength(items.length)
  const wrong = await call('GET', '/account/usage?month=november')
  expect([wrong.status, wrong.body.errors[0].field]).toEqual([422, 'month'])
})

test('each object of the account that is not there has its own 404', async () => {
  const codes = [
    (await call('PATCH', `/account/projects/${NOBODY}`, { name: 'x' })).body.code,
    (await call('GET', `/account/ssh_keys/${NOBODY}`)).body.code,
    (await call('DELETE', `/account/tokens/${NOBODY}`)).body.code,
    (await call('GET', `/servers/${NOBODY}`)).body.code,
    (await call('GET', `/servers/${NOBODY}/operations/${NOBODY}`)).body.code,
  ]
  expect(codes).toEqual(
    ['project', 'ssh_key', 'token', 'server', 'operation'].map((noun) => `${noun}_not_found`),
  )
})
