import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { at, IncusClient } from '../../../api/drivers/incus/client.ts'
import { until } from '../../qemu/harness/service.ts'
import { Ovn } from './ovn.ts'

const run = promisify(execFile)

/** The names of the programs of Incus and LXD. */
const products = {
  incus: {
    daemon: 'incusd',
    folder: 'INCUS_DIR',
    group: 'root',
    admin: ['incus', 'admin'],
    tools: '/usr/libexec/incus',
  },
  lxd: { daemon: 'lxd', folder: 'LXD_DIR', group: 'lxd', admin: ['lxd'], tools: '/usr/sbin' },
}
type Product = (typeof products)[keyof typeof products]

const READY_SECONDS = 60
/** The threshold is below the default, so that a killed member is soon detected. */
const OFFLINE_SECONDS = 11
/** On a busy machine, a new member sometimes never connects to another, so the wait is limited. */
const CONNECTED_MS = 60_000
const DISK = '2GiB'
/** The volume of each member for exports, and its size. */
const EXPORTS = { name: 'exports', size: '256MiB' }

/** For tests: daemons of Incus, or of LXD, each with a folder and a loopback address of its own. */
export class Cluster {
  readonly #folder = passable(mkdtempSync(path.join(tmpdir(), 'berth-incus-')))
  /** Separate loopback addresses allow several clusters to run on this machine at once. */
  readonly #net = `127.${randomInt(1, 255)}.${randomInt(255)}`
  readonly #product: Product
  readonly #members = new Map<string, ChildProcess>()
  readonly #ovn = new Ovn(path.join(this.#folder, 'ovn'))

  private constructor(product: Product) {
    this.#product = product
  }

  /** @param count the number of members; a single one is a standalone server */
  static async open(count: number, { hasOvn } = { hasOvn: false }, triesLeft = 2): Promise<Cluster> {
    const cluster = new Cluster(await installed())
    try {
      await cluster.#wall('add')
      await cluster.#form(count)
      if (hasOvn) await cluster.#addOvn()
      return cluster
    } catch (error) {
      await cluster.dispose()
      // On a busy machine, a join of Incus sometimes fails with "unexpected EOF", or never completes.
      if (triesLeft > 0 && /Failed to join cluster|all members reach each other/.test(String(error)))
        return Cluster.open(count, { hasOvn }, triesLeft - 1)
      throw error
    }
  }

  get names(): string[] {
    return [...this.#members.keys()]
  }

  /** The members' addresses as a zone lists them. */
  get addresses(): string[] {
    return this.names.map((name) => `unix:${this.#folderOf(name)}/unix.socket`)
  }

  /** The file with the certificate that all members have. */
  get certificate(): string {
    return path.join(this.#folderOf('m1'), 'cluster.crt')
  }

  get httpsAddresses(): string[] {
    return this.names.map((_, at) => `https://${this.#addressOf(at + 1)}`)
  }

  /** An address at which nothing answers, like that of a host without power. */
  get nowhere(): string {
    return `https://${this.#addressOf(99)}`
  }

  /** Lists the networks in the cluster's OVN. */
  networks(): Promise<string[]> {
    return this.#ovn.networks()
  }

  /** Gives each member a volume for exports, as operators do. */
  async addExports(): Promise<void> {
    const client = this.client()
    const { name, size } = EXPORTS
    for (const target of this.names.length > 1 ? this.names : [undefined]) {
      const body = { name, config: { size } }
      await client.call('POST', at('/1.0/storage-pools/default/volumes/custom', { target }), { body })
      const config = { 'storage.backups_volume': `default/${name}` }
      await client.call('PATCH', at('/1.0', { target }), { body: { config }, timeoutMs: 60_000 })
    }
    client.close()
  }

  /** Runs a command as root in an instance. */
  async exec(project: string, instance: string, command: string): Promise<string> {
    const args = ['exec', '--project', project, instance, '--', 'sh', '-c', command]
    return (await run('incus', args, { env: this.#env('m1'), timeout: 20_000 })).stdout.trim()
  }

  /** Writes a file of an instance that is off. */
  async push(project: string, instance: string, file: string, data: string, mode = '0644'): Promise<void> {
    const args = ['file', 'push', '--project', project, '--mode', mode, '-', `${instance}${file}`]
    const pushed = run('incus', args, { env: this.#env('m1'), timeout: 20_000 })
    pushed.child.stdin?.end(data)
    await pushed
  }

  /** Reads a file of an instance that is off. */
  async pull(project: string, instance: string, file: string): Promise<string> {
    const args = ['file', 'pull', '--project', project, `${instance}${file}`, '-']
    return (await run('incus', args, { env: this.#env('m1'), timeout: 20_000 })).stdout
  }

  client(): IncusClient {
    return new IncusClient({ addresses: this.addresses, tls: null })
  }

  /** Opens a proxy to the first member that drops its events. */
  async deaf(): Promise<{ address: string; close: () => void }> {
    const [path = ''] = this.addresses.map((address) => address.slice('unix:'.length))
    const server = createServer((client) => {
      const member = createConnection(path)
      const end = () => {
        client.destroy()
        member.destroy()
      }
      for (const socket of [client, member]) socket.on('error', end).on('close', end)
      client.on('data', (bytes) => (bytes.includes('GET /1.0/events') ? end() : member.write(bytes)))
      member.pipe(client)
    })
    await new Promise<void>((resolve) => server.listen(`${this.#folder}/deaf.socket`, resolve))
    return { address: `unix:${this.#folder}/deaf.socket`, close: () => void server.close() }
  }

  /** Reduces an instance to a row without a disk, as a member leaves it that dies while creating it. */
  async breakOff(instance: string): Promise<void> {
    const client = this.client()
    const query = `DELETE FROM storage_volumes WHERE name = '${instance}'`
    await client.call('POST', '/internal/sql', { body: { database: 'global', query } })
    client.close()
    const disks = path.join(this.#folderOf('m1'), 'storage-pools/default/containers')
    for (const name of readdirSync(disks).filter((found) => found.endsWith(instance)))
      await run('btrfs', ['subvolume', 'delete', path.join(disks, name)])
  }

  /** Ends a member's daemon as a power cut would; its instances continue, because they are other processes. */
  async kill(name: string): Promise<void> {
    const child = this.#members.get(name)
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }

  /** Pauses a member, which does not answer until it is resumed, although its connections stay open. */
  pause(name: string): void {
    this.#members.get(name)?.kill('SIGSTOP')
  }

  resume(name: string): void {
    this.#members.get(name)?.kill('SIGCONT')
  }

  async start(name: string): Promise<void> {
    const running = this.#members.get(name)
    if (running && running.exitCode === null && running.signalCode === null) return
    const { daemon, group } = this.#product
    mkdirSync(this.#folderOf(name), { recursive: true })
    const out = openSync(path.join(this.#folder, `${name}.out`), 'a')
    const args = ['--group', group, `--logfile=${path.join(this.#folder, `${name}.log`)}`]
    this.#members.set(name, spawn(daemon, args, { env: this.#env(name), stdio: ['ignore', out, out] }))
    await this.#admin(name, ['waitready', `--timeout=${READY_SECONDS}`])
  }

  /** Ends an instance as a power cut would, with its monitor and the helpers of its ports. */
  async vanish(instance: string): Promise<void> {
    const lines = processes()
    const monitors = lines.filter(
      ({ line }) => line.includes('[lxc monitor]') && line.endsWith(`_${instance}`),
    )
    const inits = lines
      .filter(({ parent }) => monitors.some(({ pid }) => pid === parent))
      .map(({ pid }) => pid)
    // The arguments of a port's helper contain the pid of the instance's init.
    const helpers = lines.filter(
      ({ line }) => line.includes('forkproxy') && inits.some((pid) => line.includes(` ${pid} `)),
    )
    for (const { pid } of [...monitors, ...helpers]) process.kill(pid, 'SIGKILL')
    await sleep(200)
  }

  /** Removes the whole cluster: instances, daemons, mounts, and the folder. */
  async dispose(): Promise<void> {
    for (const name of this.#members.keys()) await this.kill(name)
    const lines = processes()
    const monitors = lines.filter(({ line }) => line.includes(`[lxc monitor] ${this.#folder}/`))
    const inits = lines
      .filter(({ parent }) => monitors.some(({ pid }) => pid === parent))
      .map(({ pid }) => pid)
    const helpers = lines.filter(
      ({ line }) => line.includes('forkproxy') && inits.some((pid) => line.includes(` ${pid} `)),
    )
    for (const { pid } of [...monitors, ...helpers]) process.kill(pid, 'SIGKILL')
    for (const pid of inits) tryKill(pid)
    await sleep(500)
    await this.#ovn.dispose()
    await this.#wall('delete')
    for (const mount of mountsBelow(this.#folder)) await run('umount', ['-l', mount]).catch(() => {})
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** The rules that operators load on their members, in a table with another name. */
  async #wall(change: 'add' | 'delete'): Promise<void> {
    const table = `berth_${path.basename(this.#folder).replaceAll(/\W/g, '_')}`
    const remove = `table inet ${table}\ndelete table inet ${table}\n`
    const nowhere = `chain nowhere { type filter hook input priority 0; ip daddr ${this.#net}.99 drop; };`
    const rules = readFileSync(path.resolve(import.meta.dirname, '../../../deploy/incus.nft'), 'utf8')
    const nft = run('nft', ['-f', '-'])
    const added = `${rules.replaceAll('berth_incus', table)}\ntable inet ${table} { ${nowhere} }\n`
    nft.child.stdin?.end(change === 'add' ? added : remove)
    await nft
  }

  async #form(count: number): Promise<void> {
    const names = Array.from({ length: count }, (_, at) => `m${at + 1}`)
    const [first = 'm1', ...others] = names
    await this.start(first)
    const pool = { name: 'default', driver: 'btrfs', config: { size: DISK } }
    const cluster = { enabled: true, server_name: first }
    const config = { 'core.https_address': this.#addressOf(1) }
    await this.#init(first, { storage_pools: [pool], ...(others.length > 0 && { cluster, config }) })
    if (others.length === 0) return
    const client = this.client()
    for (const [at, name] of others.entries()) {
      const token = await tokenFor(client, name)
      await this.start(name)
      await this.#init(name, {
        cluster: {
          enabled: true,
          server_name: name,
          server_address: this.#addressOf(at + 2),
          cluster_token: token,
          member_config: [{ entity: 'storage-pool', name: 'default', key: 'size', value: DISK }],
        },
      })
    }
    // LXD 5.0 rejects this setting at its initialization, and a new member may not receive it at once.
    const body = { config: { 'cluster.offline_threshold': `${OFFLINE_SECONDS}` } }
    await until('all members know when one is offline', 60_000, () =>
      client.call('PATCH', '/1.0', { body }).then(
        () => true,
        () => sleep(500, false),
      ),
    )
    client.close()
    await this.#connected()
  }

  /** Waits until each member reaches all others, which takes some time after the joins. */
  async #connected(): Promise<void> {
    const clients = this.addresses.map((address) => new IncusClient({ addresses: [address], tls: null }))
    const asked = clients.flatMap((client) =>
      this.names.map((target) => () => client.get(at('/1.0/resources', { target }))),
    )
    try {
      await until('all members reach each other', CONNECTED_MS, () =>
        Promise.all(asked.map((ask) => ask())).then(
          () => true,
          () => sleep(500, false),
        ),
      )
    } finally {
      for (const client of clients) client.close()
    }
  }

  async #addOvn(): Promise<void> {
    await this.#ovn.start()
    const client = this.client()
    await this.#ovn.join(client, this.names)
    client.close()
  }

  async #init(name: string, settings: object): Promise<void> {
    const child = this.#admin(name, ['init', '--preseed'])
    child.child.stdin?.end(stringify(settings))
    await child
  }

  #admin(name: string, args: string[]) {
    const [program = '', ...first] = this.#product.admin
    return run(program, [...first, ...args], { env: this.#env(name) })
  }

  #env(name: string): NodeJS.ProcessEnv {
    const { folder, tools } = this.#product
    return { ...process.env, PATH: `${process.env.PATH}:${tools}`, [folder]: this.#folderOf(name) }
  }

  #addressOf(number: number): string {
    return `${this.#net}.${number}:8443`
  }

  #folderOf(name: string): string {
    return path.join(this.#folder, name)
  }
}

async function installed(): Promise<Product> {
  const hasIncus = await run('incus', ['--version']).then(
    () => true,
    () => false,
  )
  return hasIncus ? products.incus : products.lxd
}

/** Lets the users of containers pass through a folder to their files. */
function passable(folder: string): string {
  chmodSync(folder, 0o711)
  return folder
}

/** The join token and settings of a new member, as both products' commands create them. */
async function tokenFor(client: IncusClient, name: string): Promise<string> {
  const { metadata } = await client.call('POST', '/1.0/cluster/members', { body: { server_name: name } })
  // As the API documents it.
  const { serverName, fingerprint, addresses, secret, expiresAt } = (
    metadata as { metadata: Record<string, unknown> }
  ).metadata
  const token = { server_name: serverName, fingerprint, addresses, secret, expires_at: expiresAt }
  return Buffer.from(JSON.stringify(token)).toString('base64')
}

interface Process {
  pid: number
  parent: number
  line: string
}

function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const line = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim()
        const parent = /\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'latin1'))?.[1]
        return [{ pid: Number(name), parent: Number(parent), line }]
      } catch {
        return [] // the process has just ended
      }
    })
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended together with its parent.
  }
}

function mountsBelow(folder: string): string[] {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((mount) => mount.startsWith(`${folder}/`))
    .reverse()
}
