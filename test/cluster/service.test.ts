// These tests run four processes on PostgreSQL with a zone on a cluster of three members. All of them fail while
// servers run and customers order more.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../api/database/database.ts'
import { openPostgres } from '../../api/database/postgres.ts'
import { at, type IncusClient } from '../../api/drivers/incus/client.ts'
import { Members } from '../../api/drivers/incus/members.ts'
import { openIncus } from '../../api/drivers/incus/open.ts'
import { Operations } from '../../api/drivers/incus/operations.ts'
import { brokenAtRest } from '../process/harness/invariants.ts'
import { until } from '../qemu/harness/service.ts'
import { Load } from './harness/load.ts'
import { ClusterService, PORTS, type ProcessName, ZONE } from './harness/service.ts'

const TIMEOUT_MS = 240_000
const LOAD_MS = 600_000
/** The time in which the cluster, and then the service, notices that a member is gone. */
const KNOWN_MS = 90_000

const silent = { info: () => {}, warn: () => {}, error: () => {} }

let service: ClusterService
let client: IncusClient
let operations: Operations
let identity: string
let sshKeyId: string

beforeAll(async () => {
  service = await ClusterService.open(3, ['--rate-limits', '1000000,1000000,1000000'])
  client = service.cluster.client()
  operations = new Operations(client, silent, () => {})
  ;({ identity, sshKeyId } = await service.addKey())
})
afterAll(async () => {
  operations?.close()
  client?.close()
  await service?.dispose()
})

const show = async (id: string) => (await service.call('GET', `/servers/${id}`)).body
const reasonOf = async (id: string) => (await show(id)).status_reason
const hello = (id: string) => service.ssh(id, 'hostname', identity)

async function running(name: string): Promise<string> {
  const { server_id } = await service.create({ name, ssh_key_ids: [sshKeyId] })
  await service.settle(server_id)
  return server_id
}

const instances = () =>
  client.get<{ name: string; location: string; config: Record<string, string> }[]>(
    at('/1.0/instances', { project: 'berth', recursion: '1' }),
  )
const memberOf = async (id: string) =>
  (await instances()).find(({ name }) => name === `b-${id}`)?.location ?? ''

const largestMb = async () => {
  const { body } = await service.call('GET', '/pricing/capacity')
  const row = body.find((entry: { zone_slug: string }) => entry.zone_slug === ZONE)
  return row.max_server.ram_mb
}

test(
  'a server of a cluster is logged in to, resized, stopped, started and deleted',
  async () => {
    const id = await running('whole-life')
    expect(await hello(id)).toBe('whole-life')
    await service.act(id, 'stop')
    const { status } = await service.call('PATCH', `/servers/${id}`, {
      ram_mb: 512,
      disk_gb: 10,
      plan_type: 'custom',
      cpu: 1,
    })
    expect(status).toBe(202)
    await service.settle(id)
    await service.act(id, 'start')
    expect(
      await service.ssh(
        id,
        'cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; hostname',
        identity,
      ),
    ).toContain('whole-life')
    const instance = (await instances()).find(({ name }) => name === `b-${id}`)
    expect(instance?.config['limits.memory']).toBe('512MiB')
    await service.act(id, 'reboot')
    expect(await hello(id)).toBe('whole-life')
    await until('it is measured', 40_000, async () => {
      const { body } = await service.call('GET', `/servers/${id}/stats`)
      return body.cpu_usage_percent !== null || body.memory_used_bytes !== null
    })
    expect((await service.call('DELETE', `/servers/${id}`)).status).toBe(202)
    await until(
      'it is gone',
      60_000,
      async () => (await service.call('GET', `/servers/${id}`)).status === 404,
    )
    expect(await memberOf(id)).toBe('')
  },
  TIMEOUT_MS,
)

test('a zone on Incus says that its servers are containers, and refuses what it does not have', {
  timeout: TIMEOUT_MS,
}, async () => {
  const zones = (await service.call('GET', '/zones')).body
  expect(
    zones.map((zone: Record<string, unknown>) => [zone.zone_slug, zone.server_type, zone.features]),
  ).toEqual([
    [ZONE, 'container', ['published_ports', 'console', 'snapshots', 'reset_password', 'volumes']],
    ['local-1', 'virtual_machine', expect.arrayContaining(['firewalls'])],
  ])
  const { server_id: id } = await service.create({ name: 'plain', start_on_create: false })
  await service.settle(id)
  const order = await service.order({ name: 'too-much' })
  const firewall = await service.call('POST', '/firewalls', { name: 'wall', rules: [] })
  const { firewall_id } = firewall.body
  const refusals: [feature: string, path: string, body: object][] = [
    ['private_networks', '/networks', { name: 'inner', ip_range: '10.1.0.0/24', zone_slug: ZONE }],
    ['public_ipv4', '/addresses', { zone_slug: ZONE, family: 'ipv4' }],
    ['public_ipv4', '/servers', { ...order, enable_ipv4: true }],
    ['public_ipv6', '/servers', { ...order, enable_ipv6: true }],
    ['firewalls', '/servers', { ...order, firewall_ids: [firewall_id] }],
    ['firewalls', `/firewalls/${firewall_id}/servers`, { server_ids: [id] }],
  ]
  for (const [feature, path, body] of refusals)
    expect([path, await service.call('POST', path, body)]).toMatchObject([
      path,
      { status: 409, body: { code: 'not_supported', feature } },
    ])
  await service.clear()
})

test(
  'creates that arrive together are spread over the members',
  async () => {
    const ids = await Promise.all(['a', 'b', 'c'].map((letter) => running(`spread-${letter}`)))
    // Each of the two workers spreads only its own servers.
    expect(new Set(await Promise.all(ids.map(memberOf))).size).toBeGreaterThan(1)
    await service.clear()
  },
  TIMEOUT_MS,
)

test(
  'servers of a member that is killed say so, those of others go on, and all is well once it is back',
  async () => {
    const ids = await Promise.all(['x', 'y', 'z'].map((letter) => running(`alive-${letter}`)))
    const [lost = ''] = ids
    const member = await memberOf(lost)
    const members = await Promise.all(ids.map(memberOf))
    const others = ids.filter((_, at) => members[at] !== member)
    const before = await largestMb()
    await service.cluster.kill(member)
    // Nothing waits for the killed member meanwhile.
    for (const id of others) expect(await hello(id)).toMatch(/^alive-/)
    expect((await service.call('GET', '/servers')).status).toBe(200)
    await until('the server says so', KNOWN_MS, async () => (await reasonOf(lost)) === 'host_unavailable')
    expect(await show(lost)).toMatchObject({ status: 'running' })
    await until('capacity is less', 20_000, async () => (await largestMb()) < before)
    for (const id of others) {
      await service.act(id, 'reboot')
      expect(await show(id)).toMatchObject({ status: 'running', status_reason: null })
    }
    const another = await running('in-between')
    expect(await memberOf(another)).not.toBe(member)
    await service.cluster.start(member)
    await until('all is well', KNOWN_MS, async () => (await reasonOf(lost)) === null)
    expect(await hello(lost)).toMatch(/^alive-/)
    await service.clear()
  },
  TIMEOUT_MS,
)

test(
  'a member that is emptied gives its servers to others, and nobody sees an error',
  async () => {
    const id = await running('moved')
    const member = await memberOf(id)
    const seen = new Set<string>()
    const watching = setInterval(() => {
      const note = ({ status, status_reason }: Record<string, unknown>) =>
        seen.add(`${status} ${status_reason}`)
      show(id).then(note, (error: unknown) => seen.add(String(error)))
    }, 200)
    onTestFinished(() => clearInterval(watching))
    for (const action of ['evacuate', 'restore']) {
      await operations.run('POST', `/1.0/cluster/members/${member}/state`, { body: { action } })
      const isThere = (await memberOf(id)) === member
      expect(isThere).toBe(action === 'restore')
      await until('it answers', 60_000, async () => (await hello(id).catch(() => '')) === 'moved')
    }
    clearInterval(watching)
    expect([...seen]).toEqual(['running null'])
    await service.clear()
  },
  TIMEOUT_MS,
)

test(
  'a cluster without a quorum refuses creates with 503, shows all else, gives up nothing, and heals',
  async () => {
    const id = await running('patient')
    const order = await service.order({ name: 'too-early', start_on_create: false })
    const tooEarly = () => service.call('POST', '/servers', order)
    for (const name of ['m1', 'm3']) await service.cluster.kill(name)
    onTestFinished(async () => {
      for (const name of ['m1', 'm3']) await service.cluster.start(name)
    })
    // Orders accepted before a process notices are waited for.
    await tooEarly()
    await until('each process has found out', KNOWN_MS, async () => {
      const quotes = [1, 2, 3, 4].map(() => service.call('POST', '/pricing/quote', order))
      const blockers = (await Promise.all(quotes)).flatMap(({ body }) => [body.blockers[0]?.code])
      return blockers.every((code) => code === 'backend_unavailable')
    })
    for (let tries = 0; tries < 4; tries++)
      expect(await tooEarly()).toMatchObject({ status: 503, body: { code: 'backend_unavailable' } })
    for (const path of [
      '/zones',
      '/servers',
      `/servers/${id}`,
      `/servers/${id}/details`,
      `/servers/${id}/stats`,
      '/pricing/capacity',
    ])
      expect([path, await soon(service.call('GET', path))]).toEqual([path, 200])
    expect(await soon(service.call('POST', `/servers/${id}/console`))).toBe(201)
    expect(await soon(service.call('POST', `/servers/${id}/ports`, { protocol: 'tcp', port: 80 }))).toBe(201)
    // The machine still runs on its member, and its port leads there.
    expect(await hello(id)).toBe('patient')
    const zone = (await service.call('GET', '/zones')).body[0]
    expect(zone).toMatchObject({
      is_available: false,
      features: ['published_ports', 'console', 'snapshots', 'reset_password', 'volumes'],
    })
    expect(await show(id)).toMatchObject({ status: 'running' })
    for (const name of ['m1', 'm3']) await service.cluster.start(name)
    await until('creates are accepted', KNOWN_MS, async () => (await tooEarly()).status === 202)
    await until('all is well', KNOWN_MS, async () => {
      const { items } = (await service.call('GET', '/servers?limit=100')).body
      return items.every(({ status, status_reason }: Record<string, unknown>) => {
        expect(['creating', 'running', 'stopped']).toContain(status)
        return status !== 'creating' && status_reason === null
      })
    })
    expect(await hello(id)).toBe('patient')
    await service.clear()
  },
  TIMEOUT_MS,
)

test('a cluster is reached by TLS if it trusts the service’s certificate and shows the expected one', async () => {
  const file = (name: string) => path.join(service.dataDir, name)
  const selfSigned = (name: string) =>
    promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp384r1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=berth', '-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)],
    ])
  await Promise.all(['ours', 'other'].map(selfSigned))
  const body = readFileSync(file('ours.crt'), 'utf8').replaceAll(/-----[A-Z ]+-----|\s/g, '')
  await client.call('POST', '/1.0/certificates', {
    body: { name: 'berth', type: 'client', certificate: body },
  })
  const open = (name: string, server_certificate: string) =>
    openIncus({
      zone: {
        ...service.zone,
        // A host that is off does not even refuse a connection.
        addresses: [service.cluster.nowhere, ...service.cluster.httpsAddresses],
        ...{ certificate: file(`${name}.crt`), key: file(`${name}.key`), server_certificate },
      },
      address: '127.0.0.1',
      log: silent,
    })
  const driver = await open('ours', service.cluster.certificate)
  expect((await driver.host()).features).toContain('console')
  await driver.close()
  await expect(open('other', service.cluster.certificate)).rejects.toThrow('does not trust')
  await expect(open('ours', file('other.crt'))).rejects.toThrow("can't be used")
})

test('an online member that does not answer delays no order and gets no server', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [, , silentOne = ''] = service.cluster.names
  const driver = await openIncus({ zone: service.zone, address: '127.0.0.1', log: silent })
  onTestFinished(() => driver.close())
  onTestFinished(() => service.cluster.resume(silentOne))
  service.cluster.pause(silentOne)
  const two = (await driver.host()).cores
  const members = new Members(client, { group: undefined, storagePool: 'default', isClustered: true })
  const targets = await Promise.all(
    Array.from({ length: 20 }, () => members.place([], { serverId: '', ramMb: 128 })),
  )
  expect(new Set(targets.map(({ target }) => target))).toEqual(new Set(['m1', 'm2']))
  service.cluster.resume(silentOne)
  await until('it counts again', KNOWN_MS, async () => (await driver.host()).cores === (two / 2) * 3)
})

/** Returns the status of a reply that must not wait for a cluster: without a quorum, it refuses after 5 s or never. */
async function soon(reply: Promise<{ status: number }>): Promise<number | 'late'> {
  const answer = await Promise.race([reply, sleep(4_000, null, { ref: false })])
  return answer?.status ?? 'late'
}

/** An instance as Incus reports it, read by its driver. */
async function machines() {
  const driver = await openIncus({ zone: service.zone, address: '127.0.0.1', log: silent })
  try {
    return await driver.list()
  } finally {
    await driver.close()
  }
}

async function activeIn(db: Database): Promise<number> {
  const active = db.selectFrom('operations').select('operation_id')
  return (await active.where('status', 'in', ['pending', 'running']).execute()).length
}

/** Each account's entries are a chain that ends in its balance. */
async function brokenLedgers(db: Database): Promise<string[]> {
  const entries = await db.selectFrom('transactions').selectAll().orderBy('sequence').execute()
  const ledgers = await db.selectFrom('ledgers').selectAll().execute()
  return ledgers.flatMap(({ account_id, balance }) => {
    let sum = 0
    const broken = entries.filter((entry) => {
      if (entry.account_id !== account_id) return false
      const isBroken = entry.balance_before !== sum || entry.balance_after !== sum + entry.amount
      sum = entry.balance_after
      return isBroken
    })
    const faults = broken.map(({ sequence }) => `entry ${sequence} does not follow the one before`)
    return sum === balance ? faults : [...faults, `the balance is ${balance}, its entries say ${sum}`]
  })
}

/** Restarts processes and members that ended, and waits for them. */
async function withoutProcesses(names: readonly ProcessName[], meanwhile: () => Promise<void>) {
  for (const name of names) await service.stopProcess(name, 'SIGKILL')
  await meanwhile()
  for (const name of names) await service.startProcess(name)
}

/** Evacuates or restores a member. A machine that is being created or deleted prevents that for a moment. */
async function change(member: string, action: 'evacuate' | 'restore'): Promise<void> {
  const path = `/1.0/cluster/members/${member}/state`
  await until(`${action} ${member}`, KNOWN_MS, () =>
    operations.run('POST', path, { body: { action } }).then(
      () => true,
      () => sleep(500, false),
    ),
  )
}

test(
  'under load members, processes and the database fail, and nothing is lost, doubled or stuck',
  async () => {
    const order = await service.order({ ssh_key_ids: [sshKeyId] })
    const load = new Load(service, order, ['ann', 'bob'])
    await load.more(4)
    const first = load.kept.values().next().value ?? ''

    const lost = await memberOf(first)
    await service.cluster.kill(lost)
    await load.more(2)
    await service.cluster.start(lost)
    await load.more(2)

    await withoutProcesses(['api-1', 'worker-1'], () => load.more(2))

    await service.postgres.stop()
    await sleep(1_000)
    await service.postgres.start()
    await load.more(2)

    await load.quietly(() => change('m3', 'evacuate'))
    await load.more(2)
    expect((await instances()).map(({ location }) => location)).not.toContain('m3')
    await load.quietly(() => change('m3', 'restore'))

    for (const name of ['api-2', 'worker-2'] as const) {
      await service.stopProcess(name, 'SIGINT')
      await load.more(1)
      await service.startProcess(name)
    }
    await load.more(2)
    await load.stop()

    const db = openPostgres(service.databaseUrl)
    onTestFinished(() => db.destroy())
    await until('all operations have ended', KNOWN_MS, async () => (await activeIn(db)) === 0)
    await until('all hosts are there', KNOWN_MS, async () => {
      const reasons = await Promise.all([...load.kept.values()].map(reasonOf))
      return reasons.every((reason) => reason === null)
    })
    expect(await brokenAtRest({ db, machines: await machines(), ports: PORTS })).toEqual([])
    expect(await brokenLedgers(db)).toEqual([])
    const { items } = (await service.call('GET', '/servers?limit=100')).body
    const names = items.map(({ name }: { name: string }) => name)
    expect(names.sort()).toEqual([...load.kept.keys()].sort())
    for (const [name, id] of load.kept) expect(await hello(id)).toBe(name)

    await service.clear()
    expect([...(await machines()).keys()]).toEqual([])
    expect(await brokenAtRest({ db, machines: await machines(), ports: PORTS })).toEqual([])
  },
  LOAD_MS,
)
