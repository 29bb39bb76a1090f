import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { claimPort } from '../../../test/harness/ports.ts'
import { addressesOf } from '../addresses.ts'
import { type MachineSpec, PLAIN_NETWORK, type PublicPools, type ServerNetwork, SSH_PORT } from '../driver.ts'
import type { ImageSpec } from '../images.ts'
import type { Log } from '../log.ts'
import type { SnapshotState } from '../snapshots.ts'
import { startTime } from './host/proc.ts'
import { LocalImages } from './images/store.ts'
import { microImage, microSpec } from './images/test-image.ts'
import { Layout } from './layout.ts'
import { openQemu } from './open.ts'
import type { NetworkKind } from './passt.ts'
import type { QemuDriver } from './qemu.ts'

const run = promisify(execFile)

const SECTOR = 512
/** A sector beyond the partition of an image that was never started. */
const WRITTEN_AT = 1_800_000

interface WorldOptions {
  network?: NetworkKind
  under?: string
  pools?: PublicPools
}

/** For tests: real QEMU with the micro image, in a data folder of its own. */
export class QemuWorld {
  dataDir: string
  readonly log: string[] = []
  /** Host ports, one for each machine. */
  readonly #ports = new Map<string, number>()
  /** Control groups of the data folder, under each of its names. */
  readonly #groups = new Set<string>()
  readonly #numbers = new Map<string, number>()
  readonly #network: NetworkKind | undefined
  readonly #pools: PublicPools
  #driver: QemuDriver | null = null
  #publicKey = ''

  private constructor(base: string, { network, pools = { ipv4: [], ipv6: [] } }: WorldOptions) {
    this.dataDir = base
    this.#network = network
    this.#pools = pools
  }

  static async open(options: WorldOptions = {}): Promise<QemuWorld> {
    const folder = mkdtempSync(join(tmpdir(), 'berth-qemu-'))
    // QEMU has to reach the folder as its own user if the tests run as root.
    chmodSync(folder, 0o711)
    const world = new QemuWorld(join(folder, options.under ?? 'data'), options)
    await microImage(world.dataDir)
    chmodSync(world.dataDir, 0o711)
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', world.identity])
    world.#publicKey = readFileSync(`${world.identity}.pub`, 'utf8').trim()
    for (let i = 0; i < 32; i++) world.#ports.set(`free-${i}`, await claimPort())
    await world.restart()
    return world
  }

  /** Builds an image whose guest never leaves its boot loader: a boot sector that halts. */
  async makeLoader(): Promise<ImageSpec> {
    const file = join(this.dataDir, 'loader.img')
    const disk = Buffer.alloc(2 ** 20)
    disk.set([0xfa, 0xf4, 0xeb, 0xfd], 0) // cli; hlt; jmp to hlt
    disk.writeUInt16BE(0x55aa, 510)
    writeFileSync(file, disk)
    const loader: ImageSpec = { slug: 'loader', sources: [{ type: 'file', path: file }] }
    const images = new LocalImages({ dataDir: this.dataDir })
    await images.wait(loader)
    await images.close()
    return loader
  }

  /** The path of the customer's private key. */
  get identity(): string {
    return join(this.dataDir, 'id')
  }

  get driver(): QemuDriver {
    if (!this.#driver) throw new Error('The driver is closed')
    return this.#driver
  }

  /** Closes the driver, if there is one, and opens the next over the same folder. */
  async restart(network = this.#network): Promise<void> {
    await this.#driver?.close()
    const say = (details: object, message: string) =>
      void this.log.push(`${message} ${JSON.stringify(details)}`)
    const log: Log = { info: say, warn: say, error: say }
    const images = new LocalImages({ dataDir: this.dataDir })
    this.#driver = await openQemu({
      dataDir: this.dataDir,
      images,
      accel: 'tcg',
      log,
      pools: () => this.#pools,
      ...(network && { network }),
    })
    this.#groups.add(`berth-${new Layout(this.dataDir).hash}`)
  }

  /** Renames the data folder while no service runs; machines continue to run. */
  async move(name: string): Promise<void> {
    await this.#driver?.close()
    this.#driver = null
    const moved = join(this.dataDir, '..', name)
    renameSync(this.dataDir, moved)
    this.dataDir = moved
    await this.restart()
  }

  spec(serverId: string): MachineSpec {
    return {
      serverId,
      owner: serverId,
      hostname: `host-${serverId}`,
      cpu: 1,
      ramMb: 128,
      diskGb: 1,
      diskId: 'first',
      instanceId: serverId,
      cpuType: 'amd',
      image: microSpec,
      username: 'ann',
      sshPublicKeys: [this.#publicKey],
      password: null,
      userData: null,
      interfaces: [
        {
          mac: `52:54:00:12:34:${(16 + this.#numberOf(serverId)).toString(16)}`,
          addresses: Object.values(addressesOf(this.#numberOf(serverId))),
        },
      ],
    }
  }

  network(serverId: string): ServerNetwork {
    const ports = [{ protocol: 'tcp' as const, hostPort: this.portOf(serverId), port: SSH_PORT }]
    return { ...PLAIN_NETWORK, number: this.#numberOf(serverId), ports }
  }

  /** Defines and connects a machine. */
  async make(serverId: string, more: Partial<MachineSpec> = {}): Promise<void> {
    await this.driver.define({ ...this.spec(serverId), ...more })
    await this.driver.connect(new Map([[serverId, this.network(serverId)]]))
  }

  #numberOf(serverId: string): number {
    const number = this.#numbers.get(serverId) ?? this.#numbers.size + 1
    this.#numbers.set(serverId, number)
    return number
  }

  portOf(serverId: string): number {
    const known = this.#ports.get(serverId)
    if (known !== undefined) return known
    for (const [name, port] of this.#ports) {
      if (!name.startsWith('free-')) continue
      this.#ports.delete(name)
      this.#ports.set(serverId, port)
      return port
    }
    throw new Error('This test world has too few ports')
  }

  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 800_000
    while (!(await holds())) {
      if (performance.now() > deadline)
        throw new Error(`Waited in vain until ${what}\n${this.log.join('\n')}`)
      await sleep(20)
    }
  }

  async untilReady(serverId: string): Promise<void> {
    await this.until(`${serverId} is ready`, async () => (await this.driver.ready(serverId)) !== null)
  }

  pidOf(serverId: string): number {
    const run = JSON.parse(readFileSync(join(this.dataDir, 'vms', serverId, 'running.json'), 'utf8'))
    return run.process.pid
  }

  async crash(serverId: string): Promise<void> {
    process.kill(this.pidOf(serverId), 'SIGKILL')
  }

  async passwordHash(serverId: string): Promise<string> {
    return (await this.ssh(serverId, 'sudo -n grep ^ann: /etc/shadow')).split(':')[1] ?? ''
  }

  /** Runs a command in the guest by the OpenSSH client. */
  async ssh(serverId: string, command: string): Promise<string> {
    const trust = [
      '-o',
      'StrictHostKeyChecking=no',
      '-o',
      'UserKnownHostsFile=/dev/null',
      '-o',
      'LogLevel=ERROR',
    ]
    const proof = [
      '-i',
      this.identity,
      '-o',
      'IdentitiesOnly=yes',
      '-o',
      'BatchMode=yes',
      '-o',
      'ConnectTimeout=120',
    ]
    const where = ['-p', String(this.portOf(serverId)), 'ann@127.0.0.1']
    const { stdout } = await run('ssh', ['-F', 'none', ...trust, ...proof, ...where, command], {
      timeout: 240_000,
    })
    return stdout.trim()
  }

  /** Writes to the disk of a machine that is off, behind its file system. */
  async write(serverId: string, data: string): Promise<void> {
    const file = join(this.dataDir, 'written')
    writeFileSync(file, data.padEnd(SECTOR, '\0'))
    await run('qemu-io', [
      '-c',
      `write -q -s ${file} ${WRITTEN_AT * SECTOR} ${SECTOR}`,
      this.diskOf(serverId),
    ])
  }

  async read(serverId: string): Promise<string | null> {
    const file = join(this.dataDir, 'read')
    const part = `driver=raw,offset=${WRITTEN_AT * SECTOR},size=${SECTOR}`
    const disk = `file.driver=qcow2,file.file.filename=${this.diskOf(serverId)}`
    await run('qemu-img', ['convert', '--image-opts', '-O', 'raw', `${part},${disk}`, file])
    return readFileSync(file, 'utf8').replaceAll('\0', '') || null
  }

  /** Writes data that does not compress to the disk of a machine that is off. */
  async fill(serverId: string, atMb: number, megabytes: number): Promise<void> {
    const file = join(this.dataDir, 'data')
    writeFileSync(file, randomBytes(megabytes * 2 ** 20))
    await run('qemu-io', ['-c', `write -q -s ${file} ${atMb}M ${megabytes}M`, this.diskOf(serverId)])
  }

  diskOf(serverId: string): string {
    return join(this.dataDir, 'vms', serverId, 'disk.qcow2')
  }

  /** The folder of a snapshot. */
  placeOf(snapshotId: string): string {
    return join(this.dataDir, 'snapshots', snapshotId)
  }

  /** The disk of a snapshot. */
  copyOf(snapshotId: string): string {
    return join(this.placeOf(snapshotId), 'disk.qcow2')
  }

  /** Copies a disk and waits for the end. @param baseId the copy to which it may be a difference */
  async copied(serverId: string, snapshotId: string, baseId?: string): Promise<SnapshotState> {
    let state = await this.driver.snapshot(serverId, snapshotId, baseId)
    await this.until(`${snapshotId} is ready`, async () => {
      state = await this.driver.snapshot(serverId, snapshotId, baseId)
      return state.state !== 'copying'
    })
    return state
  }

  async leftovers(serverId: string): Promise<string[]> {
    const files = ['vms', 'trash'].flatMap((name) =>
      readdirSync(join(this.dataDir, name)).filter((entry) => entry.startsWith(serverId)),
    )
    const port = (await canListen(this.portOf(serverId))) ? [] : [`port ${this.portOf(serverId)}`]
    return [
      ...files,
      ...port,
      ...processesNaming(join(this.dataDir, 'vms', serverId)),
      ...this.#cgroupsOf(serverId),
    ]
  }

  #cgroupsOf(serverId: string): string[] {
    return [...this.#groups]
      .flatMap((group) =>
        ['', 'cpu', 'memory', 'pids'].map((controller) =>
          join('/sys/fs/cgroup', controller, group, serverId),
        ),
      )
      .filter((path) => existsSync(path))
  }

  async close(): Promise<void> {
    for (const serverId of (await this.driver.list()).keys()) await this.driver.destroy(serverId)
    await this.driver.close()
    rmSync(join(this.dataDir, '..'), { recursive: true, force: true })
  }
}

/** The processes that name a file of a folder. */
export function processesNaming(path: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`${path}/`)
    } catch {
      return false // the process ended in the meantime
    }
  })
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** True if a process runs. A process that ended but was not reaped by its parent does not. */
export function isRunning(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1') !== ''
  } catch {
    return false
  }
}

/** Records a process as a machine's. */
export function forgePid(world: QemuWorld, serverId: string, pid: number): void {
  const file = join(world.dataDir, 'vms', serverId, 'running.json')
  const run = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...run, process: { pid, startTime: startTime(pid) } }))
}
