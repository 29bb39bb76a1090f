import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { addressesOf } from '../../drivers/addresses.ts'
import type { TrialMachine } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { TrialState } from '../../drivers/snapshots.ts'
import { nextBoot, postponeBoot, recordBoot } from '../../snapshots/boot-checks.ts'
import type { SnapshotTable } from '../../snapshots/tables.ts'
import { isNight } from '../backup-window.ts'
import { getServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'

/** The pause before the next try if the host could not boot a backup. */
const RETRY_MS = 3600_000
/** The pause before the next try if a check ended with its process. */
const ABANDONED_MS = 24 * 3600_000

interface BootOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  log: Logger
}

/** Boots the newest backup of each server once a week, at night, one at a time in each pool, and notes how it starts. */
export class BootChecks {
  readonly #options: BootOptions
  /** The backup of each pool that is booting. */
  readonly #booting = new Map<string, SnapshotTable>()

  constructor(options: BootOptions) {
    this.#options = options
  }

  /** Looks at each pool separately, so that a driver that is down delays no other. */
  async look(): Promise<void> {
    const { drivers, log } = this.#options
    await Promise.all(
      drivers.pools.map((pool) =>
        this.#lookAt(pool).catch((error: unknown) =>
          log.error({ err: error, pool }, 'the backups of a pool could not be booted; trying again'),
        ),
      ),
    )
  }

  async #lookAt(pool: string): Promise<void> {
    const { db, clock } = this.#options
    const now = clock.now()
    const begun = this.#booting.get(pool)
    const backup = begun ?? (isNight(now) ? await nextBoot(db, pool, now) : undefined)
    if (!backup) return
    const server = await getServer(db, backup.server_id)
    // If the process dies from here on, the next try is a day later: a backup must not crash its host all
    // night.
    if (!begun) await postponeBoot(db, backup.snapshot_id, now + ABANDONED_MS)
    const state = await this.#try(backup, server)
    if (state?.state === 'queued') return postponeBoot(db, backup.snapshot_id, backup.boot_due_at)
    if (state?.state === 'booting') return void this.#booting.set(pool, backup)
    await this.#options.drivers.at(pool).endTrial(backup.snapshot_id)
    this.#booting.delete(pool)
    if (state) await this.#record(backup, state)
  }

  /** @returns null if the host could not run the check */
  async #try(backup: SnapshotTable, server: ServerTable): Promise<TrialState | null> {
    const { db, clock, drivers, log } = this.#options
    const { snapshot_id, server_id, pool } = backup
    try {
      return await drivers.at(pool).trySnapshot(snapshot_id, machineOf(backup, server))
    } catch (error) {
      log.warn({ err: error, snapshot_id, server_id }, 'a backup could not be booted; trying again')
      await postponeBoot(db, snapshot_id, clock.now() + RETRY_MS)
      return null
    }
  }

  async #record(
    { snapshot_id, server_id }: SnapshotTable,
    found: Exclude<TrialState, { state: 'queued' | 'booting' }>,
  ): Promise<void> {
    const { db, clock, log } = this.#options
    if (found.state === 'failed')
      log.error({ snapshot_id, server_id, reason: found.message }, 'a backup does not start')
    const result = found.state === 'booted' ? found.sign : found.state
    await db.transaction().execute((tx) => recordBoot(tx, snapshot_id, result, clock.now()))
  }
}

/** Describes the machine in which a backup boots: the system finds its own instance id and network card. */
function machineOf({ snapshot_id, instance_id }: SnapshotTable, server: ServerTable): TrialMachine {
  return {
    ...{ owner: server.account_id, hostname: server.name, diskId: snapshot_id, instanceId: instance_id },
    ...{ cpu: server.cpu, ramMb: server.ram_mb, diskGb: server.disk_gb, cpuType: server.cpu_type },
    username: server.username ?? 'root',
    interfaces: [{ mac: server.mac, addresses: Object.values(addressesOf(server.number ?? 0)) }],
  }
}
