import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { folder, order, run, serve } from './harness/berthd.ts'
import { listening, startInTerminal, twoAtATime } from './harness/child.ts'

const TIMEOUT_MS = 900_000

test(
  'SIGTERM in the middle of operations ends the service soon, and the next start finishes them',
  async () => {
    const data = folder()
    const first = await serve(data)
    const body = await order(first)
    const servers: { server_id: string; current_operation: { operation_id: string } }[] = []
    for (let count = 0; count < 5; count++) servers.push((await first.call('POST', '/servers', body)).body)
    const operationOf = ({ server_id, current_operation }: (typeof servers)[number]) =>
      `/servers/${server_id}/operations/${current_operation.operation_id}`
    // One client waits for an end that will not come in this process: it gets its answer, and holds nothing up.
    const waiting = first.call('GET', `${operationOf(servers[0]!)}?wait=60`) // five were made above
    await expect
      .poll(async () => (await first.call('GET', operationOf(servers[0]!))).body.status)
      .toBe('running')
    first.process.kill('SIGTERM')
    expect(await first.ended).toEqual({ code: 0, signal: null })
    // A stop that waited for the client would have been cut off, and the wait with it.
    expect(first.stderr).not.toContain('not all work finished')
    expect(first.stdout).toContain('Stopping. Servers keep running')
    expect((await waiting).body.status).toBe('running')

    const second = await serve(data)
    expect(second.stdout).not.toContain('belongs to no server')
    for (const server of servers) {
      const operation = (await second.call('GET', `${operationOf(server)}?wait=60`)).body
      expect(operation).toMatchObject({ type: 'create', status: 'succeeded', error: null })
      expect((await second.call('GET', `/servers/${server.server_id}`)).body.status).toBe('running')
    }
    expect(Object.keys(JSON.parse(readFileSync(path.join(data, 'simulator.json'), 'utf8')))).toHaveLength(5)
  },
  TIMEOUT_MS,
)

test('a request that has begun when the service is stopped is carried out and answered', async () => {
  const service = await serve(folder())
  const { hostname, port } = new URL(service.address)
  const socket = connect(Number(port), hostname)
  const body = JSON.stringify({ name: 'late' })
  socket.write(
    `POST /v1/account/projects HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${service.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  // It has come before a later one is answered.
  await service.call('GET', '/account/me')
  service.process.kill('SIGTERM')
  const isListening = () =>
    fetch(new URL('/healthz', service.address)).then(
      () => true,
      () => false,
    )
  await expect.poll(isListening, { interval: 50 }).toBe(false)
  socket.write(body)
  const reply = String(await buffer(socket))
  expect(reply).toMatch(/^HTTP\/1\.1 201 Created\r\n/)
  expect(reply).toMatch(/\r\nconnection: close\r\n/i)
  expect(reply).toContain('"name":"late"')
  expect(await service.ended).toEqual({ code: 0, signal: null })
})

test(
  'a first start makes an account with money and a token that only the owner can read',
  async () => {
    const data = path.join(folder(), 'made', 'on', 'the', 'way')
    const service = await serve(data)
    const token = readFileSync(path.join(data, 'demo-token'), 'utf8').trim()
    for (const [name, mode] of [
      // Others may pass through root's folder, to what is theirs in it, but not look around.
      ['', process.getuid?.() === 0 ? 0o711 : 0o700],
      ['demo-token', 0o600],
      ['berth.db', 0o600],
      ['secret.key', 0o600],
    ] as const)
      expect([name, statSync(path.join(data, name)).mode & 0o777]).toEqual([name, mode])
    expect((await service.call('GET', '/account/me')).body.email).toBe('demo@berth.local')
    service.process.kill('SIGINT')
    expect((await service.ended).code).toBe(0)

    const again = await serve(data)
    expect((await again.call('GET', '/account/me')).body.email).toBe('demo@berth.local')
    // Output that is not a terminal may be a journal that others read.
    for (const { stdout, stderr } of [service, again]) expect(stdout + stderr).not.toContain(token)
  },
  TIMEOUT_MS,
)

test(
  'a start in a terminal prints a banner with the new token; a journal gets JSON alone',
  async () => {
    const data = folder()
    const settings = { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', PORT: '0', BERTH_METRICS: '127.0.0.1:0' }
    const shown = startInTerminal('api/main.ts', 'serve', settings)
    onTestFinished(async () => {
      shown.process.kill('SIGKILL')
      await shown.ended
    })
    await shown.line((line) => line.startsWith('Ctrl-C'))
    const token = readFileSync(path.join(data, 'demo-token'), 'utf8').trim()
    for (const text of ['Berth is up.', token, 'balance 10000.00 RUB', 'SIMULATED'])
      expect(shown.stdout).toContain(text)
    shown.process.kill('SIGTERM')
    await shown.ended

    const service = await serve(folder(), { BERTH_METRICS: '127.0.0.1:0' })
    expect(await listening(service)).toMatchObject({
      level: 30,
      address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1$/),
      metrics: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/),
      is_simulated: true,
      account: 'demo@berth.local',
      token_file: expect.stringMatching(/demo-token$/),
      warnings: [],
    })
    service.process.kill('SIGTERM')
    await service.ended
    const lines = `${service.stdout}${service.stderr}`.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      'listening',
      'Stopping. Servers keep running, and the next start finds them.',
    ])
  },
  TIMEOUT_MS,
)

test(
  'customers are shown the public name, which need not be where the API listens',
  async () => {
    const service = await serve(folder(), {
      BERTH_GUEST_HOST: '127.0.0.2',
      BERTH_PUBLIC_NAME: 'cloud.example.com',
      BERTH_TRUST_PROXY: '127.0.0.1',
    })
    const { address, public_url } = await listening(service)
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:/)
    expect(public_url).toBe('https://cloud.example.com/v1')
    const document = await (await fetch(`${address}/openapi.json`)).json()
    expect(document).toMatchObject({ servers: [{ url: public_url }] })
    const { server_id } = (await service.call('POST', '/servers', await order(service))).body
    const { ssh } = (await service.call('GET', `/servers/${server_id}/details`)).body
    expect(ssh).toMatchObject({
      host: 'cloud.example.com',
      command: expect.stringContaining('@cloud.example.com'),
    })
  },
  TIMEOUT_MS,
)

test(
  'a second service on one data folder is refused, and takes over when the first was killed',
  async () => {
    const data = folder()
    const first = await serve(data)
    const refused = await run(['serve'], { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', PORT: '0' })
    expect(refused).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`Another berthd is already using ${data}.`),
    })
    expect((await first.call('GET', '/zones')).status).toBe(200)
    // Commands beside a service are fine.
    expect(await run(['account', 'list'], { BERTH_DATA: data })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('demo@berth.local'),
    })
    first.process.kill('SIGKILL')
    await first.ended
    await serve(data)
  },
  TIMEOUT_MS,
)

test(
  'a zone has the driver that it names, and one that does not work here closes its zone only',
  async () => {
    const data = folder()
    const shipped = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
    const zone = /^ {2}- zone_slug: local-1\n(?: {4}.*\n)+/m.exec(shipped)?.[0] ?? ''
    const prices = [...shipped.matchAll(/^ {2}- \{\n {6}active_from(?:.*\n)+? {4}\}\n/gm)].join('')
    const elsewhere = (text: string) => text.replaceAll('local-1', 'real-1')
    const text = shipped
      .replace(zone, `${zone}${elsewhere(zone)}    driver: qemu\n`)
      .replace(prices, `${prices}${elsewhere(prices)}`)
    const catalog = path.join(data, 'catalog.yaml')
    writeFileSync(catalog, text)
    // Where nothing is found, QEMU is not installed.
    const service = await serve(data, { BERTH_CATALOG: catalog, PATH: data })
    expect((await listening(service)).compute).toEqual([
      { zones: ['local-1'], is_working: true, description: 'simulator: machines exist in memory only' },
      {
        zones: ['real-1'],
        is_working: false,
        description: expect.stringMatching(/^QEMU is not installed\./),
      },
    ])
    const body = await order(service)
    expect((await service.call('POST', '/servers', body)).status).toBe(202)
    const refused = await service.call('POST', '/servers', { ...body, zone_slug: 'real-1' })
    expect([refused.status, refused.body.code]).toEqual([503, 'backend_unavailable'])
  },
  TIMEOUT_MS,
)

type Mistake = [args: string[], env: Record<string, string>, said: RegExp]

/** Settings that a service can't start with, each with the sentence that says so. */
function wrongSettings(data: string, port: string): Mistake[] {
  const file = path.join(data, 'file')
  const own = { BERTH_COMPUTE: 'simulator', PORT: '0' }
  return [
    [
      ['serve'],
      { ...own, PORT: '80800' },
      /PORT \(--port\) is "80800": it must be a port number from 0 to 65535\./,
    ],
    [['serve', '--port', 'eighty'], own, /PORT \(--port\) is "eighty": it must be a port number/],
    [['serve'], { ...own, PORT: port }, new RegExp(`port ${port} is in use by another program`)],
    [['serve'], { ...own, HOST: 'not a host' }, /HOST \(--host\) is "not a host"/],
    [['serve'], { ...own, HOST: '192.0.2.1' }, /no address 192\.0\.2\.1\. Set HOST \(/],
    [['serve'], { ...own, BERTH_GUEST_HOST: '192.0.2.1' }, /no address 192\.0\.2\.1\. Set BERTH_GUEST_HOST/],
    [
      ['serve'],
      { ...own, BERTH_ACCEL: 'xen' },
      /BERTH_ACCEL \(--accel\) is "xen": it must be one of auto, kvm, tcg\./,
    ],
    [['serve'], { ...own, BERTH_COMPUTE: 'vmware' }, /BERTH_COMPUTE .* one of auto, qemu, simulator/],
    [['serve'], { ...own, BERTH_SSH_PORTS: '22' }, /BERTH_SSH_PORTS .* it must be a range/],
    [['serve'], { ...own, BERTH_LOG: 'loud' }, /BERTH_LOG .* one of trace, debug/],
    [['serve'], { ...own, BERTH_DATA: '/proc/self' }, /BERTH_DATA \(--data\) is .*: it can't be written to/],
    [
      ['serve'],
      { ...own, BERTH_DATA: path.join(data, 'foreign') },
      /foreign\/berth\.db is not a Berth database, or is damaged: .*\. Restore a backup, or set BERTH_DATA/,
    ],
    [
      ['serve'],
      { ...own, BERTH_DATA: file },
      /BERTH_DATA \(--data\) is ".*file": the folder can't be created/,
    ],
    [
      ['serve'],
      { ...own, BERTH_DATA: path.join(file, 'below') },
      /BERTH_DATA \(--data\) is .*: the folder can't be created/,
    ],
    [
      ['serve'],
      { ...own, BERTH_CATALOG: path.join(data, 'none.yaml') },
      /The catalogue .*none\.yaml can't be read/,
    ],
    [['serve'], { ...own, BERTH_CATALOG: data }, /The catalogue .* can't be read/],
    [
      ['catalog', 'check'],
      { ...own, BERTH_CATALOG: path.join(data, 'broken.yaml') },
      /broken\.yaml:1: zones must have at least 1 entry\./m,
    ],
  ]
}

/** Commands that ask for what is not there. */
function wrongCommands(data: string): Mistake[] {
  const own = { BERTH_DATA: path.join(data, 'installed') }
  const nobody = '00000000-0000-7000-8000-000000000000'
  return [
    [['catalog', 'check'], { ...own, BERTH_CATALOG: path.join(data, 'no.yaml') }, /no\.yaml/],
    [['frobnicate'], own, /unknown command 'frobnicate'/],
    [['serve', '9000'], own, /too many arguments[\s\S]*npm start -- --port 9000/],
    [['serve', '--frobnicate'], own, /unknown option '--frobnicate'/],
    [['account', 'frobnicate'], own, /unknown command 'frobnicate'/],
    [['account', 'create'], own, /missing required argument 'email'/],
    [['account', 'create', 'nonsense'], own, /"nonsense" is not an e-mail address\./],
    [
      ['account', 'credit', 'nobody@example.com', '5', '--reason', 'x'],
      own,
      /No such account: nobody@example\.com\./,
    ],
    [['account', 'credit', nobody, '5', '--reason', 'x'], own, new RegExp(`No such account: ${nobody}`)],
    [['account', 'credit', 'a@example.com', 'much', '--reason', 'x'], own, /"much" is not a valid amount/],
    [['account', 'credit', 'a@example.com', '5.555', '--reason', 'x'], own, /"5.555" is not a valid amount/],
    [['account', 'credit', 'a@example.com', '0', '--reason', 'x'], own, /The amount must not be 0/],
    [['account', 'credit', 'a@example.com', '5'], own, /required option '--reason <text>'/],
    [['token', 'create', 'a@example.com', '--bogus'], own, /unknown option '--bogus'/],
    [['token', 'create', 'nobody@example.com'], own, /No such account: nobody@example\.com\./],
    [['token', 'create', 'a@example.com', '--scopes', 'root'], own, /No such scope: root\./],
    [['token', 'create', 'a@example.com', '--days', '0'], own, /--days must be a whole number/],
    [['token', 'revoke', nobody], own, new RegExp(`No such valid token: ${nobody}`)],
    [['account', 'suspend', 'a@example.com'], own, /required option '--reason <text>'/],
    [
      ['account', 'quota', 'a@example.com', 'wishes=3', '--reason', 'x'],
      own,
      /"wishes=3" is not a limit: give members, .* as in servers=5/,
    ],
    [['server', 'stop', 'nothing'], own, /No such server: nothing\. List them with: berthd server list/],
    [['image', 'pull', 'windows'], own, /No such template or ISO: windows\./],
  ]
}

async function takenPort(): Promise<string> {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void taken.close())
  const address = taken.address()
  return typeof address === 'object' && address ? String(address.port) : ''
}

test(
  'every mistake of a user is answered with a sentence, and no stack trace',
  async () => {
    const data = folder()
    writeFileSync(path.join(data, 'file'), 'not a folder')
    mkdirSync(path.join(data, 'foreign'))
    writeFileSync(
      path.join(data, 'foreign', 'berth.db'),
      'not a database, but longer than its header'.repeat(9),
    )
    writeFileSync(path.join(data, 'broken.yaml'), 'zones: []\n')
    writeFileSync(path.join(data, 'no.yaml'), 'zones: [')
    await run(['migrate'], { BERTH_DATA: path.join(data, 'installed') })
    const wrong: unknown[] = []
    const mistakes = [...wrongSettings(data, await takenPort()), ...wrongCommands(data)]
    await twoAtATime(
      mistakes.map(([args, env, said], at) => async () => {
        // Two of them run at once: each has a data folder of its own.
        const { code, stdout, stderr } = await run(args, { BERTH_DATA: path.join(data, `own-${at}`), ...env })
        const lines = stderr.trim().split('\n').length
        const isSentence = said.test(stderr) && lines <= 6 && !/^\s+at |node:internal/m.test(stderr)
        if (!isSentence || ![1, 2].includes(code ?? 0) || stdout !== '')
          wrong.push({ args, env, code, stdout, stderr })
      }),
    )
    expect(wrong).toEqual([])
  },
  TIMEOUT_MS,
)

test(
  'a mistyped data folder is named, not taken for an empty installation, and stays as it was',
  async () => {
    const data = folder()
    const [missing, empty] = [path.join(data, 'bert'), path.join(data, 'empty')]
    mkdirSync(empty)
    const commands = [
      ['account', 'list'],
      ['server', 'list'],
      ['server', 'stop', 'web-1'],
      ['person', 'link', 'ann@example.com'],
      ['token', 'list'],
      ['image', 'list'],
      ['image', 'pull', 'micro'],
      ['catalog', 'check'],
      ['backup', path.join(data, 'backup.tar')],
      ['export', path.join(data, 'export.db')],
    ]
    await twoAtATime(
      commands.flatMap((command) =>
        [missing, empty].map((folder) => async () => {
          expect([command, await run(command, { BERTH_DATA: folder })]).toEqual([
            command,
            {
              code: 2,
              stdout: '',
              stderr: `No installation found in ${folder}. Is BERTH_DATA (--data) right? Only berthd serve, berthd migrate and berthd account create start a new installation.\n`,
            },
          ])
        }),
      ),
    )
    for (const folder of [path.join(missing, 'below'), empty]) await run(['check'], { BERTH_DATA: folder })
    const strict = { BERTH_DATA: missing, BERTH_COMPUTE: 'simulator', BERTH_PUBLIC: 'on' }
    expect((await run(['serve'], strict)).stderr).toContain('is not safe for strangers')
    expect([existsSync(missing), readdirSync(empty)]).toEqual([false, []])
    expect((await run(['account', 'create', 'ann@example.com'], { BERTH_DATA: missing })).code).toBe(0)
  },
  TIMEOUT_MS,
)

test(
  "the walls are found with an ordinary user's PATH, which has no sbin",
  async () => {
    const { code, stdout } = await run(['check'], { BERTH_DATA: folder(), PATH: '/usr/bin:/bin' })
    expect(code).toBe(1)
    expect(stdout).not.toMatch(/'chroot': No such file/)
  },
  TIMEOUT_MS,
)

test(
  'every command explains itself with --help',
  async () => {
    const commands = [
      [],
      ['serve'],
      ['check'],
      ['migrate'],
      ['backup'],
      ['restore'],
      ['account'],
      ['server'],
      ['token'],
      ['image'],
      ['catalog'],
    ]
    const groups: Record<string, string[]> = {
      account: ['create', 'list', 'show', 'audit', 'credit', 'suspend', 'resume', 'close', 'quota'],
      server: ['list', 'show', 'start', 'stop', 'delete'],
      token: ['create', 'list', 'revoke'],
      image: ['list', 'pull', 'build'],
      catalog: ['check'],
    }
    for (const [group, names] of Object.entries(groups))
      for (const name of names) commands.push([group, name])
    const wrong: unknown[] = []
    await twoAtATime(
      commands.map((command) => async () => {
        const { code, stdout, stderr } = await run([...command, '--help'])
        const isHelp = stdout.startsWith(`Usage: ${['berthd', ...command].join(' ')}`)
        if (code !== 0 || stderr !== '' || !isHelp) wrong.push({ command, code, stdout, stderr })
      }),
    )
    expect(wrong).toEqual([])
    const { stdout } = await run(['--help'])
    for (const name of ['HOST', 'PORT', 'BERTH_DATA', 'BERTH_COMPUTE', 'BERTH_CATALOG', 'BERTH_ACCEL'])
      expect(stdout).toContain(`[${name}]`)
  },
  TIMEOUT_MS,
)

test(
  'an operator sees who has paid: a gift is not a payment',
  async () => {
    const env = { BERTH_DATA: folder() }
    const shown = async () => (await run(['account', 'show', 'bob@example.com'], env)).stdout
    const credit = (...words: string[]) =>
      run(['account', 'credit', 'bob@example.com', ...words, '--reason', 'x'], env)
    await run(['account', 'create', 'bob@example.com'], env)
    expect((await credit('100', '--type', 'correction')).stdout).toBe('Credited. Balance: 100.00 RUB\n')
    expect(await shown()).toMatch(
      /paid: +none: smaller quotas, and no grace period\nservers: +0 of 2 \(20 once 0\.01 RUB is paid\)\n/,
    )
    await credit('499.90')
    expect(await shown()).toMatch(/paid: +499\.90 RUB\nservers: +0 of 20\n/)
    expect((await credit('-499.90', '--type', 'payment')).stdout).toBe('Debited. Balance: 100.00 RUB\n')
    expect(await shown()).toMatch(/balance: +100\.00 RUB\npaid: +none/)
  },
  TIMEOUT_MS,
)

test(
  'an operator makes an account, gives it money and a token, and takes the token back',
  async () => {
    const data = folder()
    const service = await serve(data)
    const env = { BERTH_DATA: data }
    const made = await run(['account', 'create', 'ann@example.com', '--name', 'Ann'], env)
    expect(made).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
    expect(await run(['account', 'create', 'ann@example.com'], env)).toMatchObject({
      code: 2,
      stderr: 'The account ann@example.com already exists.\n',
    })
    const credit = [
      'account',
      'credit',
      'ann@example.com',
      '499.90',
      '--reason',
      'bank transfer',
      '--reference',
      'tx-1',
    ]
    expect((await run(credit, env)).stdout).toBe('Credited. Balance: 499.90 RUB\n')
    expect((await run(credit, env)).stdout).toBe(
      'Nothing changed: this reference is already booked. Balance: 499.90 RUB\n',
    )
    const other = credit.map((word) => (word === '499.90' ? '500' : word))
    expect(await run(other, env)).toMatchObject({
      code: 1,
      stderr: 'Nothing changed: the reference tx-1 was used for an entry of 499.90, not 500.00.\n',
    })
    expect((await run(['account', 'list'], env)).stdout).toMatch(/ann@example\.com +active +499\.90 RUB/)
    const { stdout, stderr } = await run(
      ['token', 'create', 'ann@example.com', '--scopes', 'account:read'],
      env,
    )
    const headers = { authorization: `Bearer ${stdout.trim()}` }
    const { address } = await listening(service)
    const me = await (await fetch(`${address}/account/me`, { headers })).json()
    expect(me).toMatchObject({ email: 'ann@example.com', name: 'Ann', token: { scopes: ['account:read'] } })
    const tokenId = /^Token (\S+),/.exec(stderr)?.[1] ?? ''
    expect(await run(['token', 'revoke', tokenId], env)).toMatchObject({ code: 0, stdout: 'Revoked.\n' })
    expect(await (await fetch(`${address}/account/me`, { headers })).json()).toMatchObject({
      code: 'token_revoked',
    })
  },
  TIMEOUT_MS,
)
