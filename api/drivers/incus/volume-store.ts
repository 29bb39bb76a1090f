import { randomBytes } from 'node:crypto'
import { at, type IncusClient } from './client.ts'
import { IncusError, unless } from './errors.ts'
import { gigabytes } from './instance.ts'
import type { Parts } from './parts.ts'
import { PREFIX, volumeName } from './volume-devices.ts'
import type { IncusZone } from './zone.ts'

/** Prefixes of an unfinished copy on another member, and of a volume whose copy is complete, before a move's tag. */
const COPY = 'c-'
const OLD = 'o-'
const TAG = /-[0-9a-f]{6}$/

/** The key of volumes that an instance has had: all others are empty. */
const MARK = 'user.berth.used'
const DESCRIPTION = 'A volume of Berth'
const COPY_MS = 6 * 3600_000

type Place = Pick<IncusZone, 'storage_pool' | 'project'>

export interface Named {
  name: string
  /** The member that has the volume; `none`: there is no cluster, or all members reach it. */
  location: string
}

export interface Stored extends Named {
  config: Readonly<Record<string, string>>
  /** The paths of the instances that have the volume. */
  used_by: readonly string[]
  sizeGb: number
  isMarked: boolean
}

/** The certificate of a cluster, and an operation that waits for its other end. */
type Server = { environment: { certificate: string } }
type Waiting = { id: string; metadata: Record<string, string> }

export const isWhole = ({ name }: Named) => name.startsWith(PREFIX)

/** The id of the volume that a name belongs to; null: the volume is not Berth's. */
export function idOfVolume(name: string): string | null {
  if (name.startsWith(PREFIX)) return name.slice(PREFIX.length)
  const isDraft = [COPY, OLD].some((prefix) => name.startsWith(prefix)) && TAG.test(name)
  return isDraft ? name.slice(2).replace(TAG, '') : null
}

/** The custom volumes of a project, including those of members that do not answer. */
export class VolumeStore {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Lists names only: for each volume with its users, Incus would look at all instances. */
  all(): Promise<Named[]> {
    return volumeNames(this.#parts.client, this.#parts.zone)
  }

  async get(form: Named): Promise<Stored> {
    const { config, used_by, location } = await this.#parts.client.get<{
      config: Record<string, string>
      used_by: string[] | null
      location: string
    }>(this.#path(form))
    return {
      ...{ name: form.name, location: location || form.location, config, used_by: used_by ?? [] },
      ...{ sizeGb: gigabytes(config.size), isMarked: config[MARK] !== undefined },
    }
  }

  async create(volumeId: string, sizeGb: number, target: string | undefined): Promise<void> {
    const body = {
      ...{ name: volumeName(volumeId), content_type: 'filesystem', description: DESCRIPTION },
      config: { size: `${sizeGb}GiB` },
    }
    await this.#parts.operations.run('POST', this.#path(undefined, target), { body }).catch(unless('exists'))
  }

  async grow(volume: Stored, sizeGb: number): Promise<void> {
    if (volume.sizeGb < sizeGb) await this.#change(volume, { size: `${sizeGb}GiB` })
  }

  /** Marks a volume as used before an instance gets it. */
  async mark(volume: Stored): Promise<void> {
    if (!volume.isMarked) await this.#change(volume, { [MARK]: 'true' })
  }

  async remove(form: Named): Promise<void> {
    await this.#parts.operations.run('DELETE', this.#path(form)).catch(unless('missing'))
  }

  /**
   * Moves a detached volume to another member. Renaming the original makes the copy valid, and only one of several
   * attempts can succeed with it.
   */
  async move(volumeId: string, volume: Stored, target: string): Promise<void> {
    const tag = randomBytes(3).toString('hex')
    const copy = { name: `${COPY}${volumeId}-${tag}`, location: target }
    const old = { name: `${OLD}${volumeId}-${tag}`, location: volume.location }
    await this.#copy(volume, copy)
    await this.#rename(volume, old.name)
    await this.#rename(copy, volumeName(volumeId))
    await this.remove(old)
  }

  /**
   * Completes an interrupted move, or removes a volume that was created too late. No move may be running.
   * @throws IncusError if another process does the same
   */
  async mend(volumeId: string, forms: readonly Named[]): Promise<void> {
    const olds = forms.filter(({ name }) => name.startsWith(OLD))
    const copies = forms.filter(({ name }) => name.startsWith(COPY))
    const whole = await Promise.all(forms.filter(isWhole).map((form) => this.get(form)))
    const used = whole.filter(({ isMarked, used_by }) => isMarked || used_by.length > 0)
    const empty = whole.filter((one) => !used.includes(one))
    const hasData = used.length > 0 || olds.length > 0
    for (const one of empty.slice(hasData ? 0 : 1)) await this.remove(one)
    if (used.length === 0 && olds.length > 0) return this.#settle(volumeId, olds, copies)
    for (const rest of [...copies, ...olds]) await this.remove(rest)
  }

  /** Gives the volume its name back after an interrupted move. */
  async #settle(volumeId: string, olds: readonly Named[], copies: readonly Named[]): Promise<void> {
    const [old, ...others] = olds
    if (!old || others.length > 0) throw new IncusError(0, `${volumeName(volumeId)} was moved twice at once`)
    const copy = copies.find(({ name }) => name.slice(COPY.length) === old.name.slice(OLD.length))
    const isDone = await this.#rename(copy ?? old, volumeName(volumeId)).then(
      () => true,
      (error: unknown) => unless('missing', 'exists')(error) ?? false,
    )
    // Without the copy, only the original has the data.
    if (!isDone) throw new IncusError(0, 'The volume is being moved')
    for (const rest of [...copies, old]) if (rest !== (copy ?? old)) await this.remove(rest)
  }

  /** True if Incus is copying a volume, even for a process that is gone. */
  async isMoving(volumeId: string): Promise<boolean> {
    const path = at('/1.0/operations', { recursion: '1', project: this.#parts.zone.project })
    const byStatus = await this.#parts.client.get<Record<string, { resources: unknown }[]>>(path)
    const { pending = [], running = [] } = byStatus
    return [...pending, ...running].some(({ resources }) =>
      JSON.stringify(resources ?? '').includes(`/${COPY}${volumeId}-`),
    )
  }

  /** Copies by a migration, because the move of Incus loses the size, and its copy works within one project only. */
  async #copy(volume: Stored, copy: Named): Promise<void> {
    const { client, operations, members, zone } = this.#parts
    const [{ environment }, url] = await Promise.all([
      client.get<Server>('/1.0'),
      members.urlOf(volume.location),
    ])
    const part = { pool: zone.storage_pool, volume_only: true }
    const { metadata } = await client.call('POST', this.#path(volume), {
      body: { name: volume.name, migration: true, ...part },
    })
    const waiting = metadata as Waiting // as the API documents it for a migration
    const { 'volatile.uuid': _, ...config } = volume.config
    const source = {
      ...{ type: 'migration', mode: 'pull', name: volume.name, ...part },
      operation: `${url}/1.0/operations/${waiting.id}`,
      secrets: waiting.metadata,
      certificate: environment.certificate,
    }
    const body = { name: copy.name, content_type: 'filesystem', description: DESCRIPTION, config, source }
    await operations.run('POST', this.#path(undefined, copy.location), { body, waitMs: COPY_MS })
  }

  async #rename(form: Named, name: string): Promise<void> {
    await this.#parts.operations.run('POST', this.#path(form), { body: { name } })
  }

  async #change(form: Named, config: Record<string, string>): Promise<void> {
    const body = { description: DESCRIPTION, config }
    await this.#parts.operations.run('PATCH', this.#path(form), { body })
  }

  /** @param target the member (default: that of the volume) */
  #path(form?: Named, target = form?.location): string {
    return pathOf(this.#parts.zone, form, target)
  }
}

/** Lists a zone's custom volumes, including those of members that do not answer. @throws IncusError */
export async function volumeNames(client: IncusClient, zone: Place): Promise<Named[]> {
  const urls = await client.get<string[]>(pathOf(zone))
  return urls.flatMap((url) => {
    const { pathname, searchParams } = new URL(url, 'http://incus')
    const name = /\/volumes\/custom\/([^/]+)$/.exec(pathname)?.[1]
    return name === undefined
      ? []
      : [{ name: decodeURIComponent(name), location: searchParams.get('target') ?? 'none' }]
  })
}

function pathOf({ storage_pool, project }: Place, form?: Named, target?: string): string {
  const path = `/1.0/storage-pools/${storage_pool}/volumes/custom${form ? `/${form.name}` : ''}`
  return at(path, { project, target: target === 'none' ? undefined : target })
}
