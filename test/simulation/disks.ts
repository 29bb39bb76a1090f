import { Simulator } from '../../api/drivers/simulator/simulator.ts'
import { fileOf } from './files.ts'
import type { Auditor } from './invariants.ts'

/** The simulated host, which also lets tests inspect its machines in ways that the service can't. */
export class Hall extends Simulator {
  has(serverId: string): boolean {
    return this.machines.find(serverId) !== undefined
  }

  /** The received parts of customers' files. */
  readonly received = new Map<string, Buffer>()

  override async receive(imageId: string, at: number, content: AsyncIterable<Buffer>): Promise<void> {
    const chunks: Buffer[] = []
    const watched = async function* () {
      for await (const chunk of content) {
        chunks.push(chunk)
        yield chunk
      }
    }
    await super.receive(imageId, at, watched())
    // A part that is late is not read.
    if (chunks.length === 0) return
    const before = this.received.get(imageId) ?? Buffer.alloc(0)
    const part = Buffer.concat(chunks)
    // A part that comes again leaves those after it where they are.
    const whole = Buffer.alloc(Math.max(before.length, at + part.length))
    before.copy(whole)
    part.copy(whole, at)
    this.received.set(imageId, whole)
  }

  override async removeSnapshot(id: string): Promise<void> {
    await super.removeSnapshot(id)
    this.received.delete(id)
  }

  /** Lists the files that have not become images. */
  get files(): string[] {
    const ids = this.machines.entries.filter(([, { file }]) => file !== undefined)
    return ids.map(([, { spec }]) => spec.serverId)
  }

  rescueOf(serverId: string): string | null {
    return this.machines.find(serverId)?.rescue?.rescueId ?? null
  }
}

interface ServerRow {
  server_id: string
  account_id: string
  status: string
  has_disk: number
  snapshot_id: string | null
  rescue_id: string | null
  deleted_at: number | null
}

/** The statuses in which a server's disk may be erased. */
const ERASING = ['rebuilding', 'restoring', 'deleting']

/** Watches every disk that the host creates or removes, and reports those that nobody ordered. */
export class Disks {
  readonly #hall: Hall
  readonly #auditor: Auditor
  readonly #broken: (what: string) => void
  /** The last data that each guest wrote to its disk. */
  readonly #written = new Map<string, string>()
  #writes = 0
  /** True if a server belonged to another account before. */
  hasMoved: (serverId: string) => boolean = () => false

  constructor(hall: Hall, auditor: Auditor, broken: (what: string) => void) {
    this.#hall = hall
    this.#auditor = auditor
    this.#broken = broken
  }

  /** Lets the guest of a running machine write to its disk. @returns false if it does not run */
  async write(serverId: string): Promise<boolean> {
    if ((await this.#hall.inspect(serverId)).power !== 'running') return false
    this.#writes += 1
    await this.#hall.writes(serverId, `written ${this.#writes}`)
    this.#written.set(serverId, `written ${this.#writes}`)
    return true
  }

  /** Carries out a call to the host, and checks its effect on disks. */
  async around(name: string, [id, other]: readonly unknown[], effect: () => Promise<unknown>) {
    if (typeof id === 'string' && name === 'destroy') return this.#destroying(id, effect)
    if (typeof id === 'string' && name === 'removeVolume') return this.#removingVolume(id, effect)
    if (typeof id === 'string' && name === 'detachVolume') return this.#detaching(id, String(other), effect)
    if (typeof id === 'string' && name === 'removeSnapshot') return this.#removingCopy(id, effect)
    if (typeof id === 'string' && name === 'importImage') return this.#importing(id, other, effect)
    if (name === 'define') return this.#defining(id as { serverId: string }, effect) // the service's own call
    return effect()
  }

  async #destroying(id: string, effect: () => Promise<unknown>): Promise<unknown> {
    const isThere = this.#hall.has(id)
    const result = await effect()
    if (!isThere || this.#hall.has(id)) return result
    this.#written.delete(id)
    const row = this.#server(id)
    if (row && row.deleted_at === null && row.has_disk === 1 && !ERASING.includes(row.status))
      this.#broken(`no disk is lost: that of ${id}, which is ${row.status}, was erased`)
    return result
  }

  async #defining(spec: { serverId: string; image?: object | null }, effect: () => Promise<unknown>) {
    const isThere = this.#hall.has(spec.serverId)
    const result = await effect()
    const row = this.#server(spec.serverId)
    if (isThere || !row) return result
    const source = spec.image && 'snapshotId' in spec.image ? spec.image.snapshotId : null
    const isUnrestored = row.status === 'restoring' && source === null
    if (row.deleted_at === null && (isUnrestored || source !== row.snapshot_id))
      this.#broken(`a disk is created from the source that was ordered: ${row.server_id} from ${source}`)
    const [from] = this.#auditor.rows<{ account_id: string }>(
      'SELECT account_id FROM snapshots WHERE snapshot_id = ?',
      String(source),
    )
    // A server that moves before its first start still has the disk that was ordered.
    const isInherited = this.hasMoved(row.server_id) && ERASING.every((status) => status !== row.status)
    if (from && from.account_id !== row.account_id && !isInherited)
      this.#broken(`a disk is a copy of one of its own account: ${row.server_id} from ${source}`)
    const data = this.#hall.dataOf(row.server_id)
    if (data !== null) this.#written.set(row.server_id, data)
    return result
  }

  async #removingVolume(id: string, effect: () => Promise<unknown>): Promise<unknown> {
    const isThere = (await this.#hall.listVolumes()).has(id)
    const result = await effect()
    const [row] = this.#volumes(id)
    if (isThere && row && row.status !== 'deleting')
      this.#broken(`no volume is lost: ${id}, which is ${row.status}, was removed`)
    return result
  }

  async #detaching(id: string, serverId: string, effect: () => Promise<unknown>): Promise<unknown> {
    const had = (await this.#hall.listVolumes()).get(id)
    const result = await effect()
    const [row] = this.#volumes(id)
    if (had === serverId && row?.status === 'attached' && row.server_id === serverId)
      this.#broken(`no server loses a volume that it has: ${serverId} lost ${id}`)
    return result
  }

  /** Checks that an image has exactly the bytes of its customer's file. */
  async #importing(id: string, source: unknown, effect: () => Promise<unknown>): Promise<unknown> {
    const result = await effect()
    const { state } = result as { state: string } // as its contract says
    const { bytes } = source as { bytes?: number } // missing: from a snapshot
    const file = this.#hall.received.get(id)?.subarray(0, bytes)
    if (state === 'failed' || bytes === undefined || !file) return result
    if (file.length !== bytes || !file.equals(fileOf(bytes, file[0] ?? 0)))
      this.#broken(`an image is made of one whole file: ${id} of ${file.length} bytes, not ${bytes}`)
    return result
  }

  async #removingCopy(id: string, effect: () => Promise<unknown>): Promise<unknown> {
    const result = await effect()
    const [row] = this.#auditor.rows<{ status: string; deleted_at: number | null }>(
      'SELECT status, deleted_at FROM snapshots WHERE snapshot_id = ?',
      id,
    )
    if (row && row.deleted_at === null && row.status !== 'error')
      this.#broken(`no copy is lost: ${id}, which is ${row.status}, was removed`)
    return result
  }

  /** Checks that the host matches the rows exactly, once nothing is in progress. */
  async brokenAtRest(): Promise<string[]> {
    return [
      ...(await this.#brokenMachines()),
      ...(await this.#brokenVolumes()),
      ...(await this.#brokenCopies()),
    ]
  }

  async #brokenMachines(): Promise<string[]> {
    const machines = await this.#hall.list()
    const servers = this.#auditor.rows<ServerRow>('SELECT * FROM servers WHERE deleted_at IS NULL')
    const known = new Set(servers.map(({ server_id }) => server_id))
    const orphans = [...machines.keys()].filter((id) => !known.has(id))
    return [
      ...orphans.map((id) => `every machine has a server: ${id}`),
      ...servers.flatMap(({ server_id, status, has_disk, rescue_id }) => {
        const power = machines.get(server_id)?.power ?? 'absent'
        if (!isExpected(status, has_disk === 1, power))
          return [
            `the power of a machine matches the status of its server: ${server_id} is ${status}, its machine ${power}`,
          ]
        if (status === 'running' && this.#hall.rescueOf(server_id) !== rescue_id)
          return [
            `a machine runs the system that the row of its server names: ${server_id} has the rescue ${rescue_id}`,
          ]
        const written = this.#written.get(server_id)
        if (written === undefined || power === 'absent' || this.#hall.dataOf(server_id) === written) return []
        return [`a disk has the data that was written last: ${server_id} misses ${written}`]
      }),
    ]
  }

  async #brokenVolumes(): Promise<string[]> {
    const there = await this.#hall.listVolumes()
    const rows = this.#volumes()
    const known = new Set(rows.map(({ volume_id }) => volume_id))
    return [
      ...[...there.keys()].filter((id) => !known.has(id)).map((id) => `no deleted volume stays: ${id}`),
      ...rows.flatMap(({ volume_id, server_id, status }) => {
        const on = there.get(volume_id) ?? null
        return ['attached', 'available'].includes(status) && on !== server_id
          ? [
              `a volume is where its row says: ${volume_id} is ${status} on ${server_id}, the host has it on ${on}`,
            ]
          : []
      }),
    ]
  }

  async #brokenCopies(): Promise<string[]> {
    const there = await this.#hall.listSnapshots()
    const rows = this.#auditor.rows<{ snapshot_id: string; status: string; deleted_at: number | null }>(
      'SELECT snapshot_id, status, deleted_at FROM snapshots WHERE discarded = 0',
    )
    const known = new Set(rows.map(({ snapshot_id }) => snapshot_id))
    return [
      ...this.#hall.files.filter((id) => !known.has(id)).map((id) => `no file of an upload stays: ${id}`),
      ...[...there.keys()].filter((id) => !known.has(id)).map((id) => `no deleted copy stays: ${id}`),
      ...rows
        .filter(({ status, deleted_at }) => status === 'available' && deleted_at === null)
        .filter(({ snapshot_id }) => there.get(snapshot_id)?.isReady !== true)
        .map(({ snapshot_id }) => `a copy that is available is on its host: ${snapshot_id}`),
    ]
  }

  #server(id: string): ServerRow | undefined {
    return this.#auditor.rows<ServerRow>('SELECT * FROM servers WHERE server_id = ?', id)[0]
  }

  #volumes(id?: string) {
    return this.#auditor.rows<{ volume_id: string; server_id: string | null; status: string }>(
      'SELECT volume_id, server_id, status FROM volumes WHERE deleted_at IS NULL AND volume_id = coalesce(?, volume_id)',
      id ?? null,
    )
  }
}

function isExpected(status: string, hasDisk: boolean, power: string): boolean {
  if (status === 'running') return power === 'running'
  if (status === 'error') return true
  if (!['stopped', 'suspended'].includes(status)) return false
  return power === 'stopped' || (power === 'absent' && !hasDisk)
}
