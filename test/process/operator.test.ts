import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../api/clock.ts'
import { openSqlite } from '../../api/database/sqlite.ts'
import { createPerson } from '../../api/people/person/people.ts'
import { catalogText } from '../harness/app.ts'
import { berthd, folder, order, run, serve } from './harness/berthd.ts'
import { listening } from './harness/child.ts'

const TIMEOUT_MS = 900_000

test(
  'an operator makes a token for a shop, which opens the operator’s routes until it is revoked',
  async () => {
    const data = folder()
    const service = await serve(data)
    const env = { BERTH_DATA: data, SUDO_USER: 'alice' }
    const token = (...words: string[]) => run(['operator', 'token', ...words], env)
    const bounds = ['--scope', 'operator:read', '--cidr', '127.0.0.1']
    const made = await token('create', 'shop', ...bounds, '--days', '7')
    expect(made.stderr).toContain('with operator:read, for 7 days. It is shown only once:')
    const secret = made.stdout.trim()
    const ask = async (path: string) =>
      (await service.send('GET', path, undefined, { authorization: `Bearer ${secret}` })).status
    expect([await ask('/operator/accounts'), await ask('/servers')]).toEqual([200, 403])
    expect((await token('list')).stdout).toMatch(/ shop +operator:read +127.0.0.1\/32 +alice /)
    for (const wrong of [
      ['no-address', '--scope', 'operator:read'],
      ['no-scope', '--cidr', '127.0.0.1'],
      ['other', '--scope', 'read', '--cidr', '127.0.0.1'],
      ['a name', ...bounds],
      ['for-ever', ...bounds, '--days', '0'],
    ])
      expect([wrong, (await token('create', ...wrong)).code]).toEqual([wrong, 2])
    expect((await token('revoke', 'shop')).stdout).toBe('Revoked.\n')
    expect(await ask('/operator/accounts')).toBe(401)
    expect((await token('revoke', 'shop')).stderr).toContain('berthd operator token list')
  },
  TIMEOUT_MS,
)

test(
  'an operator keeps name, own id, tags and notes of an account, and finds it by them',
  async () => {
    const env = { BERTH_DATA: folder() }
    const account = (...words: string[]) => run(['account', ...words], env)
    for (const email of ['ann@example.com', 'bob@example.com']) await account('create', email)
    const own = [
      '--name',
      'Ann Lee',
      '--external-id',
      'crm-7',
      '--tags',
      'vip,reseller',
      '--notes',
      'Mondays',
    ]
    expect((await account('describe', 'ann@example.com', ...own)).code).toBe(0)
    const shown = (await account('show', 'ann@example.com')).stdout
    for (const line of [/^name: +Ann Lee$/m, /^external id: +crm-7$/m, /^tags: +vip, reseller$/m])
      expect(shown).toMatch(line)
    for (const filter of [
      ['--external-id', 'crm-7'],
      ['--tag', 'vip'],
      ['--search', 'lee'],
    ]) {
      const { stdout } = await account('list', ...filter)
      expect([filter, stdout.match(/\S+@\S+/g)]).toEqual([filter, ['ann@example.com']])
    }
    const taken = await account('describe', 'bob@example.com', '--external-id', 'crm-7')
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining('crm-7') })
    expect((await account('describe', 'bob@example.com', '--tags', 'A b')).code).toBe(1)
    await account('describe', 'ann@example.com', '--external-id', '', '--tags', '', '--notes', '')
    expect((await account('list', '--tag', 'vip')).stdout).not.toContain('@')
    expect((await account('show', 'ann@example.com')).stdout).toMatch(
      /^name: +Ann Lee\nexternal id: +none\n/m,
    )
  },
  TIMEOUT_MS,
)

test(
  'an account is closed with a file of all that is kept of it, without secrets',
  async () => {
    const data = folder()
    const service = await serve(data)
    const env = { BERTH_DATA: data }
    await service.call('POST', '/servers', { ...(await order(service)), name: 'web-1' })
    await run(['account', 'describe', 'demo@berth.local', '--notes', 'Mondays'], env)
    const file = path.join(data, 'demo.jsonl')
    const words = ['demo@berth.local', '--reason', 'left', '--delete-servers', '--yes', '--export']
    const missing = await run(['account', 'close', ...words, path.join(data, 'none', 'demo.jsonl')], env)
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("can't be written") })
    expect((await run(['account', 'show', 'demo@berth.local'], env)).stdout).toMatch(/^status: +active$/m)
    expect((await run(['account', 'close', ...words, file], env)).code).toBe(0)
    const text = readFileSync(file, 'utf8')
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines[0]).toMatchObject({ type: 'account', email: 'demo@berth.local', status: 'active' })
    const types = new Set(lines.map(({ type }) => type))
    expect([...types]).toEqual(['account', 'project', 'server', 'transaction', 'audit'])
    expect(lines.find(({ type }) => type === 'server')).toMatchObject({ name: 'web-1' })
    expect(text).not.toContain('Mondays')
    expect(text).not.toContain(service.token)
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    const again = await run(['account', 'export', 'demo@berth.local', file], env)
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('Name a new file') })
  },
  TIMEOUT_MS,
)

test(
  'an operator finds the server of a port, and stops, starts and deletes it while the service runs',
  async () => {
    const data = folder()
    const service = await serve(data)
    const env = { BERTH_DATA: data, SUDO_USER: 'alice' }
    const made = (await service.call('POST', '/servers', { ...(await order(service)), name: 'web-1' })).body
    const status = async () => (await service.call('GET', `/servers/${made.server_id}`)).body.status
    await expect.poll(status).toBe('running')
    const { port } = (await service.call('GET', `/servers/${made.server_id}/details`)).body.ssh
    const listed = await run(['server', 'list', '--ssh-port', String(port)], env)
    expect(listed.stdout.split('\n')[1]).toMatch(
      new RegExp(`^${made.server_id} +web-1 +demo@berth.local +running +local-1 +127.0.0.1:${port}$`),
    )
    expect((await run(['server', 'list', '--ssh-port', '1'], env)).stdout.split('\n')).toHaveLength(2)
    const stopped = await run(['server', 'stop', 'web-1'], env)
    expect(stopped).toMatchObject({ code: 0, stdout: expect.stringContaining('within 5 seconds') })
    await expect.poll(status).toBe('stopped')
    expect(await run(['server', 'stop', 'web-1'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The server is stopped; stop requires it to be running or error.'),
    })
    await run(['server', 'start', made.server_id], env)
    await expect.poll(status).toBe('running')
    const { items } = (await service.call('GET', '/account/audit')).body
    expect(items.map(({ action }: { action: string }) => action)).toEqual([
      'berthd server start, by alice',
      'berthd server stop, by alice',
      'createServer',
    ])
    // Several may serve one installation, and commands are processes of their own.
    const audit = (await run(['account', 'audit', 'demo@berth.local'], env)).stdout.split('\n')
    expect(audit[0]).toMatch(/^TIME +ACTION +OBJECT +AMOUNT +BY +ADDRESS +PROCESS +REQUEST$/)
    expect(audit[1]).toMatch(
      new RegExp(`berthd server start, by alice +${made.server_id} +${hostname()} \\d+ `),
    )
    expect(audit[3]).toMatch(
      new RegExp(`createServer +${made.server_id} .* 127.0.0.1 +${hostname()} ${service.process.pid} `),
    )
    expect((await run(['account', 'audit', 'demo@berth.local', '--limit', '0'], env)).code).toBe(2)
    // Work that a dead service would have begun is done by its next start.
    service.process.kill('SIGTERM')
    await service.ended
    const deleted = await run(['server', 'delete', 'web-1'], env)
    expect(deleted.stdout).toContain('after its next start')
    const next = await serve(data)
    const gone = async () => (await next.call('GET', `/servers/${made.server_id}`)).status
    await expect.poll(gone).toBe(404)
  },
  TIMEOUT_MS,
)

test(
  'an operator takes in the disk of another host as a server of an account, under its name and address',
  async () => {
    const data = folder()
    const catalog = path.join(data, 'own.yaml')
    const ranges = 'public_ipv4: [203.0.113.0/28]'
    writeFileSync(catalog, catalogText.replace('overcommit:', `${ranges}\n    overcommit:`))
    const service = await serve(data, { BERTH_CATALOG: catalog })
    const env = { BERTH_DATA: data, BERTH_CATALOG: catalog, PORT: new URL(service.address).port }
    const disk = Buffer.alloc(18 * 2 ** 20)
    const file = path.join(data, 'web-1.raw')
    writeFileSync(file, disk)
    const words = ['server', 'import', file, '--account', 'demo@berth.local', '--name', 'web-1']
    const take = (...more: string[]) => run([...words, '--preset', 'nano', '--user', 'ann', ...more], env)
    const left = async () => {
      const lists = ['/images', '/addresses', '/servers', '/account/tokens'].map((list) =>
        service.call('GET', list),
      )
      return (await Promise.all(lists)).map(({ body }) => body.total)
    }
    const before = await left()
    expect(await take('--address', '203.0.113.7')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The file is not a disk image'),
    })
    expect((await take('--address', '192.0.2.1')).stderr).toContain('not in the ranges of zone local-1')
    expect(await left()).toEqual(before)
    disk.writeUInt16BE(0x55aa, 510)
    writeFileSync(file, disk)
    const taken = await take('--address', '203.0.113.7')
    expect(taken).toMatchObject({ code: 0, stderr: '' })
    const { items } = (await service.call('GET', '/servers')).body
    expect(items).toMatchObject([{ name: 'web-1', status: 'running', ipv4: '203.0.113.7' }])
    expect(taken.stdout).toContain(`Server ${items[0].server_id}: web-1, of demo@berth.local.`)
    expect((await service.call('GET', `/servers/${items[0].server_id}/details`)).body.ssh.username).toBe(
      'ann',
    )
    expect((await service.call('GET', '/images')).body.total).toBe(0)
    service.process.kill('SIGTERM')
    await service.ended
    expect((await take()).stderr).toContain('The service is not running. Start it')
  },
  TIMEOUT_MS,
)

test(
  'an operator suspends, resumes, limits and closes an account while the service runs',
  async () => {
    const data = folder()
    const service = await serve(data)
    const env = { BERTH_DATA: data, SUDO_USER: 'alice' }
    const body = await order(service)
    const { server_id } = (await service.call('POST', '/servers', body)).body
    const status = async () => (await service.call('GET', `/servers/${server_id}`)).body.status
    await expect.poll(status).toBe('running')
    const account = (verb: string, ...more: string[]) =>
      run(['account', verb, 'demo@berth.local', ...more, '--reason', 'a test'], env)
    expect((await account('suspend')).stdout).toBe('demo@berth.local is suspended.\n')
    expect((await service.call('POST', '/servers', body)).body.code).toBe('account_suspended')
    await expect.poll(status).toBe('suspended')
    expect(await account('suspend')).toMatchObject({
      code: 1,
      stderr: 'Nothing changed: demo@berth.local is suspended.\n',
    })
    expect((await account('freeze')).stdout).toBe('demo@berth.local is frozen.\n')
    expect((await service.call('GET', '/servers')).body.code).toBe('account_frozen')
    expect((await account('close', '--yes')).stderr).toContain('is frozen. Resume it first.')
    await account('resume')
    await expect.poll(status).toBe('running')
    expect((await account('quota', 'servers=1')).stdout).toMatch(/^servers: +1$/m)
    expect((await service.call('POST', '/servers', body)).body.code).toBe('quota_exceeded')
    const prices = await account('prices', '--percent', '-10', '--preset', 'nano=99')
    expect(prices.stdout).toBe('percent: -10\nnano:    99.00 RUB\n')
    expect((await account('prices', '--preset', 'huge=1')).stderr).toContain('No such preset: huge.')
    expect((await account('prices', '--percent', '-101')).stderr).toContain('from -100 to 100')
    const credit = await run(
      ['account', 'credit-limit', 'demo@berth.local', '500', '--reason', 'a test'],
      env,
    )
    expect(credit.stdout).toContain('credit limit: 500.00 RUB')
    const smtp = async () => (await service.call('GET', '/account/me')).body.is_smtp_open
    expect(await smtp()).toBe(false)
    expect((await account('smtp', 'open')).stdout).toBe('Outgoing mail of demo@berth.local is open.\n')
    expect((await account('smtp', 'open')).stdout).toContain('open already')
    expect(await smtp()).toBe(true)
    // Nothing is closed before the operator has seen what goes, and has typed the address or --yes.
    await service.send('PATCH', `/servers/${server_id}`, { name: 'web-1', delete_protection: true })
    expect(await account('close')).toMatchObject({ code: 1, stderr: expect.stringContaining('web-1') })
    expect((await account('close', '--delete-servers')).stderr).toContain(
      'These servers of demo@berth.local have delete protection: web-1 (protected).',
    )
    const unsure = await account('close', '--delete-servers', '--force')
    expect(unsure).toMatchObject({ code: 2, stderr: expect.stringContaining('Give --yes') })
    expect(unsure.stdout).toMatch(
      /^Balance of demo@berth\.local: \d+\.\d\d RUB\.\nServers: web-1 \(protected\)\.\n$/,
    )
    expect(await status()).toBe('running')
    const closed = await account('close', '--delete-servers', '--force', '--yes')
    expect(closed.stdout).toContain('demo@berth.local is closed.\n')
    await expect.poll(status).toBe('suspended')
    const { items } = (await service.call('GET', '/account/audit')).body
    expect(items[0]).toMatchObject({ action: 'berthd account close, by alice', object_type: 'account' })
    expect((await account('resume')).stdout).toBe('demo@berth.local is active.\n')
    await expect.poll(status).toBe('running')
  },
  TIMEOUT_MS,
)

test(
  'a token is revoked by its name, its id or itself, and a name of several names them instead',
  async () => {
    const env = { BERTH_DATA: folder() }
    for (const email of ['ann@example.com', 'bob@example.com']) await run(['account', 'create', email], env)
    const create = (email: string, name: string) => run(['token', 'create', email, '--name', name], env)
    await create('ann@example.com', 'ci')
    await create('bob@example.com', 'ci')
    const { stdout: value } = await create('bob@example.com', 'laptop')
    expect(await run(['token', 'revoke', 'ci'], env)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^Several tokens have the name ci\. Give the id of one: .* of ann@example\.com/,
      ),
    })
    expect((await run(['token', 'revoke', 'ci', '--account', 'ann@example.com'], env)).code).toBe(0)
    expect((await run(['token', 'revoke', 'ci'], env)).code).toBe(0)
    expect((await run(['token', 'revoke', value.trim()], env)).code).toBe(0)
    const again = await run(['token', 'revoke', value.trim()], env)
    expect(again.stderr).toBe('No such valid token: the given token. List them with: berthd token list\n')
    expect((await run(['token', 'list'], env)).stdout).not.toContain('example.com')
    expect((await run(['account', 'show', 'bob@example.com'], env)).stdout).toMatch(/^status: +active$/m)
  },
  TIMEOUT_MS,
)

test(
  'for strangers as customers the service names all that is missing and does not start; check says the same beforehand',
  async () => {
    const data = folder()
    const env = { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', HOST: '0.0.0.0', PORT: '0', PATH: data }
    const refused = await run(['serve'], { ...env, BERTH_PUBLIC: 'on' })
    expect([refused.code, existsSync(path.join(data, 'demo-token'))]).toEqual([2, false])
    const checked = await run(['check'], env)
    expect(checked).toMatchObject({ code: 1, stdout: expect.stringMatching(/^ok +paid balances$/m) })
    for (const missing of [
      'real servers: BERTH_COMPUTE is "simulator".',
      'a user per server: not checked: QEMU is not installed.',
      'entry only by a proxy: HOST is 0.0.0.0, and BERTH_TRUST_PROXY names no TLS proxy in front of it',
    ]) {
      expect(refused.stderr).toContain(`  ${missing}`)
      expect(checked.stdout).toContain(`missing  ${missing}`)
    }
  },
  TIMEOUT_MS,
)

test(
  'where the operator made an account, no demo account is',
  async () => {
    const data = folder()
    await run(['account', 'create', 'ann@example.com'], { BERTH_DATA: data })
    const service = berthd(['serve'], { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', PORT: '0' })
    expect(await listening(service)).toMatchObject({ account: null, token_file: null })
    service.process.kill('SIGTERM')
    await service.ended
    expect(existsSync(path.join(data, 'demo-token'))).toBe(false)
    expect((await run(['account', 'list'], { BERTH_DATA: data })).stdout).not.toContain('demo@berth.local')
  },
  TIMEOUT_MS,
)

test(
  'an operator sees who has and had an address, and gets the names of addresses for a zone of the DNS',
  async () => {
    const data = folder()
    const file = path.join(data, 'offers.yaml')
    const sample = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
    const ranges = 'public_ipv4: [203.0.113.7/32]\n    public_ipv6: 2001:db8:7::/64\n    overcommit:'
    writeFileSync(file, sample.replace('overcommit:', ranges))
    const env = { BERTH_DATA: data, BERTH_CATALOG: file }
    const service = await serve(data, env)
    const ids = []
    for (const family of ['ipv4', 'ipv6'] as const) {
      const { body } = await service.call('POST', '/addresses', { zone_slug: 'local-1', family })
      await service.send('PATCH', `/addresses/${body.address_id}`, { reverse_dns: 'mail.example.com' })
      ids.push(body.address_id)
    }
    expect((await run(['address', 'list', '--dns'], env)).stdout.split('\n')).toEqual([
      expect.stringMatching(/^2\.0\.0\..*\.7\.0\.0\.0\.8\.b\.d\.0\.1\.0\.0\.2\.ip6\.arpa\. 3600 IN PTR mail/),
      '7.113.0.203.in-addr.arpa. 3600 IN PTR mail.example.com.',
      '',
    ])
    await service.send('DELETE', `/addresses/${ids[0]}`)
    const { stdout } = await run(['address', 'list', '--address', '203.0.113.7'], env)
    expect(stdout.split('\n')[1]).toMatch(/^203\.0\.113\.7 +demo@berth\.local +local-1 +\S+ \S+Z +\S+ \S+Z/)
    expect((await run(['address', 'list', '--dns'], env)).stdout).not.toContain('in-addr')
  },
  TIMEOUT_MS,
)

test(
  'a link to sign in has the address of the service that runs, whatever the settings of the command',
  async () => {
    const data = folder()
    const env = { BERTH_DATA: data, PORT: '8099' }
    const service = await serve(data)
    const link = ['person', 'link', 'ann@example.com']
    const { origin } = new URL(service.address)
    await run(['person', 'add', 'ann@example.com', 'demo@berth.local'], env)
    const beside = await run(link, env)
    expect(beside.stdout.split('#')[0]).toBe(`${origin}/sign-in`)
    expect(beside.stderr).toMatch(/^A link .*; earlier links are revoked:\n$/)
    service.process.kill('SIGKILL')
    await service.ended
    const alone = await run(link, env)
    expect(alone.stdout.split('#')[0]).toBe('http://127.0.0.1:8099/sign-in')
    expect(alone.stderr).toContain(
      'http://127.0.0.1:8099 comes from the settings of this command (HOST, PORT)',
    )
  },
  TIMEOUT_MS,
)

test(
  'who becomes an operator without a second factor is said to need one',
  async () => {
    const env = { BERTH_DATA: folder() }
    await run(['account', 'create', 'ann@example.com'], env)
    await run(['person', 'add', 'ann@example.com', 'ann@example.com'], env)
    const operator = (state: string) => run(['person', 'operator', 'ann@example.com', state], env)
    expect((await operator('on')).stdout).toBe(
      "ann@example.com is an operator.\nThe operator's pages require two-factor authentication. Turn it on in the console, under Security.\n",
    )
    expect((await operator('off')).stdout).toBe('ann@example.com is not an operator.\n')
  },
  TIMEOUT_MS,
)

test(
  'an operator removes a second factor that was lost, with a reason that its owner reads',
  async () => {
    const data = folder()
    const env = { BERTH_DATA: data }
    await run(['migrate'], env)
    const db = openSqlite(path.join(data, 'berth.db'))
    const ann = { email: 'ann@example.com', name: 'Ann', language: 'en', password: null } as const
    const person = await createPerson(db, systemClock, ann)
    const factor = { person_id: person?.person_id ?? '', secret: '', last_step: 0, created_at: 0 }
    await db
      .insertInto('two_factors')
      .values({ ...factor, enabled_at: 1 })
      .execute()
    const off = ['person', 'two-factor', ann.email, 'off']
    expect(await run(off, env)).toMatchObject({ code: 2, stderr: expect.stringContaining('--reason') })
    const [first, again] = [
      await run([...off, '--reason', 'lost'], env),
      await run([...off, '--reason', 'x'], env),
    ]
    expect([first.code, again.code, again.stderr]).toEqual([
      0,
      1,
      'Nothing changed: ann@example.com has no second factor.\n',
    ])
    expect(await db.selectFrom('two_factors').selectAll().execute()).toEqual([])
    expect(await db.selectFrom('mails').selectAll().execute()).toHaveLength(1)
    await db.destroy()
  },
  TIMEOUT_MS,
)

test(
  'an operator announces maintenance on the command line, which customers read at once, changes and ends it',
  async () => {
    const data = folder()
    const service = await serve(data)
    const announcement = (...words: string[]) =>
      run(['announcement', ...words, '--json'], { BERTH_DATA: data })
    const texts = ['--en', 'The switches are replaced.', '--ru', 'В зоне меняют коммутаторы.']
    const times = ['--starts', '2060-12-01T01:00:00Z', '--ends', '2060-12-01T03:00:00Z']
    const made = await announcement('create', ...texts, ...times)
    const { announcement: id } = JSON.parse(made.stdout)
    const seen = async () => (await service.call('GET', '/announcements')).body.items
    expect(await seen()).toMatchObject([{ announcement_id: id, kind: 'maintenance', zones: [] }])
    await announcement('update', id, '--kind', 'incident', '--ends', '2060-12-01T05:00:00Z')
    expect(await seen()).toMatchObject([{ kind: 'incident', ends_at: '2060-12-01T05:00:00.000Z' }])
    for (const [code, ...wrong] of [
      [2, 'create', '--en', 'English only'],
      [2, 'update', id, '--ru', 'Только русский'],
      [1, 'create', ...texts, '--zone', 'mars-1'],
      [1, 'create', '--en', 'Two\nlines', '--ru', 'Две строки'],
      [1, 'update', id],
      [1, 'end', 'none'],
    ] as const)
      expect([wrong, (await announcement(...wrong)).code]).toEqual([wrong, code])
    await announcement('end', id)
    expect(await seen()).toEqual([])
    expect(JSON.parse((await announcement('list')).stdout)).toMatchObject([
      { announcement: id, kind: 'incident', zones: 'all', text: 'The switches are replaced.' },
    ])
  },
  TIMEOUT_MS,
)

test(
  'an operator creates a promo code on the command line, a customer redeems it, and it is revoked',
  async () => {
    const data = folder()
    const service = await serve(data)
    const promo = (...words: string[]) => run(['promo', ...words, '--json'], { BERTH_DATA: data })
    const terms = ['--name', 'Fair', '--amount', '300', '--days', '30', '--until', '2060-01-01T00:00:00Z']
    const { code, promo_code: id } = JSON.parse((await promo('create', ...terms)).stdout)
    expect(await service.call('POST', '/account/credits', { code })).toMatchObject({
      ...{ status: 201, body: { amount_rub: '300.00' } },
    })
    for (const [code, ...wrong] of [
      [2, 'create', '--name', 'Fair'],
      [2, 'create', ...terms, '--days', 'many'],
      [1, 'create', ...terms, '--amount', '-1'],
      [1, 'create', ...terms, '--code', 'short'],
      [1, 'revoke', 'none'],
    ] as const)
      expect([wrong, (await promo(...wrong)).code]).toEqual([wrong, code])
    await promo('revoke', id)
    expect(JSON.parse((await promo('list')).stdout)).toMatchObject([
      { promo_code: id, name: 'Fair', amount: '300.00', uses: '1', of: '1', revoked: expect.any(String) },
    ])
  },
  TIMEOUT_MS,
)

test(
  'a statement of a bank is booked once, however often it is imported, and lines without an invoice are named',
  async () => {
    const data = folder()
    const bank = '{ name: Example Bank, account: "40702810900000000001", bic: "044525000" }'
    const seller = ['name: A', 'address: B', 'tax_id: "7700000000"', 'first_month: 2026-11', `bank: ${bank}`]
    writeFileSync(
      path.join(data, 'catalog.yaml'),
      `operator:\n  seller:\n${seller.map((line) => `    ${line}\n`).join('')}${catalogText}`,
    )
    const service = await serve(data)
    const { reference } = (await service.call('POST', '/account/transfers', { amount_rub: '500' })).body
    const file = path.join(data, 'statement.csv')
    const lines = [`1;"1 500,50";for ${reference}`, `1;"1 500,50";for ${reference}`, '2;10;rent']
    writeFileSync(file, ['Id;Sum;Purpose', ...lines].join('\r\n'))
    const columns = ['--id', 'Id', '--amount', 'Sum', '--purpose', 'Purpose']
    const importing = async (...more: string[]) => {
      const { code, stdout } = await run(['bank', 'import', file, ...columns, ...more], { BERTH_DATA: data })
      expect(code).toBe(0)
      return stdout.match(/already booked|booked|unmatched/g)
    }
    const first = ['booked', 'already booked', 'unmatched']
    expect(await importing('--dry-run')).toEqual(first)
    const balance = async () => Number((await service.call('GET', '/account/balance')).body.balance)
    const before = await balance()
    expect(await importing()).toEqual(first)
    expect(await importing()).toEqual(['already booked', 'already booked', 'unmatched'])
    expect(await balance()).toBe(before + 1500.5)
    writeFileSync(file, Buffer.alloc(20 * 2 ** 20 + 1))
    expect((await run(['bank', 'import', file, ...columns], { BERTH_DATA: data })).code).toBe(1)
  },
  TIMEOUT_MS,
)
