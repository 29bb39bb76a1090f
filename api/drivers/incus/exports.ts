import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError } from '../driver.ts'
import type { SnapshotFile, SnapshotFiles } from '../snapshots.ts'
import { at, type Endpoint } from './client.ts'
import { toDriverError, unless } from './errors.ts'
import { diskGbOf, type Instance } from './instance.ts'
import type { Parts } from './parts.ts'
import { attempt, DRAFTS, nameable, READY } from './snapshots.ts'
import type { Spool } from './spool.ts'

/**
 * The names of finished exports. Incus may leave half an export behind when it is killed, so each is renamed at its
 * end.
 */
const WHOLE = /^e-[0-9a-f]{12}$/
const ENDING = '.tar.gz'
/** Incus removes an export after this time, even if this service is gone. */
const KEPT_MS = 24 * 3600_000
/** The time for an export, its reading, or an import. */
const EXPORT_MS = 6 * 3600_000
const SETTLE_MS = 60_000
/** The largest export relative to the disk: blocks that a guest shares or compresses are exported in full. */
const MOST_GROWTH = 2
const GIB = 2 ** 30
/**
 * Storage drivers that export only used blocks. Others also write the holes of files, and a guest can create
 * exabytes of holes for free.
 */
const EXPORTING = ['btrfs', 'zfs']

interface ExportParts extends Parts {
  spool: Spool
}

/**
 * Exports and imports snapshots of a cluster. An export stays on its member until it is sent, so that all processes
 * read the same bytes. A copy brought back is collected on this host, and imported once it is complete.
 */
export class IncusExports implements SnapshotFiles {
  readonly areExports = true
  readonly #parts: ExportParts
  /** Exports of this process by instance, at most one of which runs. Each stays until a call has seen its end. */
  readonly #jobs = new Map<string, { made: Promise<string>; isEnded: boolean }>()
  /** The last exports that were read completely. */
  readonly #known = new Map<string, SnapshotFile>()

  constructor(parts: ExportParts) {
    this.#parts = parts
  }

  async list(snapshotId: string): Promise<SnapshotFile[] | null> {
    return this.#try(async () => {
      const instance = await this.#named(READY + nameable(snapshotId))
      if (!instance) return null
      const name = (await this.#kept(instance.name)) ?? (await this.#made(instance))
      return [await this.#describe(instance, name)]
    })
  }

  async read(
    snapshotId: string,
    { name, at: from, length }: { name: string; at: number; length: number },
  ): Promise<Uint8Array> {
    return this.#try(async () => {
      const path = this.#path(READY + nameable(snapshotId), `/backups/${exportOf(name)}/export`)
      const headers = { range: `bytes=${from}-${from + length - 1}` }
      const reply = await this.#parts.client.stream(path, { headers })
      if (reply.statusCode === 206) return collect(reply, length)
      reply.destroy()
      throw new DriverError('unavailable', 'The cluster does not send exports in parts.')
    })
  }

  async release(snapshotId: string): Promise<void> {
    await this.#try(async () => {
      const instance = READY + nameable(snapshotId)
      for (const name of await this.#names(instance)) if (WHOLE.test(name)) await this.#delete(instance, name)
    })
  }

  async write(
    snapshotId: string,
    part: { name: string; at: number; bytes: Uint8Array; left?: number },
  ): Promise<void> {
    await this.#parts.spool.write(nameable(snapshotId), part)
  }

  async accept(snapshotId: string, [file, ...others]: readonly SnapshotFile[]): Promise<string | null> {
    const { spool } = this.#parts
    const kept = spool.fileOf(nameable(snapshotId))
    try {
      if (await this.#try(() => this.#named(READY + snapshotId))) return null
      if (!file || others.length > 0) return file?.name ?? ''
      const { sha256 } = await hashOf(createReadStream(kept), file.bytes)
      if (sha256 !== file.sha256) return file.name
      await this.#try(() => this.#import(snapshotId, kept))
      return null
    } finally {
      await spool.remove(snapshotId)
    }
  }

  /** Lists a snapshot's exports, including unfinished ones. */
  async #names(instance: string): Promise<string[]> {
    const path = this.#path(instance, '/backups', { recursion: '1' })
    const found = await this.#parts.client.get<{ name: string }[]>(path).catch(unless('missing'))
    return (found ?? []).map(({ name }) => name)
  }

  async #kept(instance: string): Promise<string | null> {
    return (await this.#names(instance)).find((name) => WHOLE.test(name)) ?? null
  }

  /** Begins or continues an export. @throws DriverError unavailable while it is not made, disk_full, unsupported */
  async #made(instance: Instance): Promise<string> {
    const isBusy = [...this.#jobs].some(([name, { isEnded }]) => name !== instance.name && !isEnded)
    if (isBusy) throw new DriverError('unavailable', 'Another snapshot is being exported.')
    const job = this.#jobs.get(instance.name) ?? this.#begin(instance)
    await Promise.race([job.made.catch(() => {}), sleep(SETTLE_MS, undefined, { ref: false })])
    if (!job.isEnded) throw new DriverError('unavailable', 'The snapshot is still being exported.')
    this.#jobs.delete(instance.name)
    return job.made
  }

  #begin(instance: Instance) {
    const job = { made: this.#export(instance), isEnded: false }
    const end = () => {
      job.isEnded = true
    }
    job.made.then(end, end)
    this.#jobs.set(instance.name, job)
    return job
  }

  async #export({ name, location }: Instance): Promise<string> {
    const { operations } = this.#parts
    await this.#requireWalls(location === 'none' ? undefined : location)
    if (await this.#isGoing(name)) throw new DriverError('unavailable', 'It is being exported.')
    for (const draft of await this.#names(name)) await this.#delete(name, draft)
    const id = randomBytes(6).toString('hex')
    const body = {
      ...{ name: `d-${id}`, expires_at: new Date(Date.now() + KEPT_MS).toISOString() },
      ...{ instance_only: true, optimized_storage: true, compression_algorithm: 'gzip' },
    }
    await operations.run('POST', this.#path(name, '/backups'), { body, waitMs: EXPORT_MS })
    const renamed = { body: { name: `e-${id}` } }
    await operations.run('POST', this.#path(name, `/backups/d-${id}`), renamed)
    return renamed.body.name
  }

  /** Requires bounded space for exports, because only a full disk stops a guest's export. @throws DriverError */
  async #requireWalls(target: string | undefined): Promise<void> {
    const { client, zone } = this.#parts
    const { driver } = await client.get<{ driver: string }>(`/1.0/storage-pools/${zone.storage_pool}`)
    if (!EXPORTING.includes(driver))
      throw new DriverError('unsupported', `Snapshots in a storage pool of ${driver} can't be exported.`)
    const member = target === undefined ? '' : ` of ${target}`
    const { config } = await client.get<{ config: Record<string, string> }>(at('/1.0', { target }))
    const [pool = '', volume] = (config['storage.backups_volume'] ?? '').split('/')
    const path = `/1.0/storage-pools/${pool}/volumes/custom/${volume}`
    const kept = volume ? await client.get<{ config: Record<string, string> }>(at(path, { target })) : null
    if (!kept?.config.size)
      throw new DriverError(
        'unsupported',
        `Set storage.backups_volume${member} to a volume with a size: exports would fill the disk of the member.`,
      )
  }

  /** Reads an export once, and keeps its hash. */
  async #describe(instance: Instance, name: string): Promise<SnapshotFile> {
    const key = `${instance.name}/${name}`
    const known = this.#known.get(key)
    if (known) return known
    const path = this.#path(instance.name, `/backups/${name}/export`)
    const reply = await this.#parts.client.stream(path, { timeoutMs: EXPORT_MS })
    const most = diskGbOf(instance) * GIB * MOST_GROWTH + GIB
    const file = { name: name + ENDING, ...(await hashOf(reply, most)) }
    this.#known.clear()
    this.#known.set(key, file)
    return file
  }

  async #import(snapshotId: string, file: string): Promise<void> {
    const { operations, zone } = this.#parts
    const draft = attempt(DRAFTS.snapshot + snapshotId)
    const headers = Object.fromEntries(
      ['x-incus', 'x-lxd'].flatMap((product) => [
        [`${product}-name`, draft],
        [`${product}-pool`, zone.storage_pool],
      ]),
    )
    const sent = {
      ...{ file, timeoutMs: EXPORT_MS, waitMs: EXPORT_MS, endpoint: await this.#roomiest() },
      headers: { 'content-type': 'application/octet-stream', ...headers },
    }
    try {
      await operations.run('POST', at('/1.0/instances', { project: zone.project }), sent)
      const body = { name: READY + snapshotId }
      await operations.run('POST', this.#path(draft), { body }).catch(unless('exists'))
    } finally {
      await operations.run('DELETE', this.#path(draft)).catch(unless('missing'))
    }
  }

  /** Finds the zone's member with the most free space, because an import stays on the member that receives it. */
  async #roomiest(): Promise<Endpoint> {
    const { client, members, zone } = this.#parts
    const names = await members.online()
    const ask = async <T>(path: string, endpoint: Endpoint) => {
      const { metadata } = await client.call('GET', path, { endpoint })
      return metadata as T // as the API documents it for this path
    }
    const found = await Promise.all(
      client.endpoints.map(async (endpoint) => {
        try {
          const { environment } = await ask<{ environment: { server_name: string } }>('/1.0', endpoint)
          const isOurs = names.includes(null) || names.includes(environment.server_name)
          const path = `/1.0/storage-pools/${zone.storage_pool}/resources`
          const { space } = await ask<{ space: { total: number; used?: number } }>(path, endpoint)
          return isOurs ? [{ endpoint, free: space.total - (space.used ?? 0) }] : []
        } catch {
          return [] // another member takes it
        }
      }),
    )
    const [best] = found.flat().sort((a, b) => b.free - a.free)
    if (!best) throw new DriverError('unavailable', 'No member of the zone answers.')
    return best.endpoint
  }

  /** True if Incus is exporting a snapshot, even for a process that is gone. */
  async #isGoing(instance: string): Promise<boolean> {
    const path = at('/1.0/operations', { recursion: '1', project: this.#parts.zone.project })
    const byStatus = await this.#parts.client.get<Record<string, { resources: unknown }[]>>(path)
    return [...(byStatus.pending ?? []), ...(byStatus.running ?? [])].some(({ resources }) =>
      JSON.stringify(resources ?? '').includes(`/${instance}/backups/`),
    )
  }

  async #named(name: string): Promise<Instance | null> {
    const query = { project: this.#parts.zone.project, recursion: '1', filter: `name eq ${name}` }
    const [found] = await this.#parts.client.get<Instance[]>(at('/1.0/instances', query))
    return found ?? null
  }

  async #delete(instance: string, name: string): Promise<void> {
    const path = this.#path(instance, `/backups/${name}`)
    await this.#parts.operations.run('DELETE', path).catch(unless('missing'))
  }

  #path(instance: string, part = '', query: Record<string, string> = {}): string {
    return at(`/1.0/instances/${instance}${part}`, { project: this.#parts.zone.project, ...query })
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw toDriverError(error)
    }
  }
}

/** Returns the name of the export behind a file. @throws DriverError not_found for any other name, since it becomes part of a path */
function exportOf(file: string): string {
  const name = file.slice(0, -ENDING.length)
  if (!file.endsWith(ENDING) || !WHOLE.test(name)) throw new DriverError('not_found', 'No such export.')
  return name
}

/** @throws DriverError disk_full if there are more bytes */
async function hashOf(content: Readable, most: number): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > most) throw new DriverError('disk_full', `The export is larger than ${most} bytes.`)
    hash.update(chunk)
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** @throws DriverError unavailable if there are more bytes */
async function collect(content: Readable, most: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > most)
      throw new DriverError('unavailable', 'The cluster sends more of an export than was asked.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
