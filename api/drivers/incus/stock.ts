import { DriverError } from '../driver.ts'
import type { Stock } from '../module.ts'
import { at, IncusClient } from './client.ts'
import { toDriverError, unless } from './errors.ts'
import { type Instance, serverIdOf, serverOf } from './instance.ts'
import { tlsOf } from './open.ts'
import { DRAFTS, READY } from './snapshots.ts'
import { TRIALS } from './trials.ts'
import { idOfVolume, volumeNames } from './volume-store.ts'
import type { IncusZone } from './zone.ts'

/** Prefixes of instances that are not machines, although copies may have the settings of machines. */
const OTHERS = [READY, DRAFTS.snapshot, DRAFTS.machine, TRIALS]

/**
 * Lists what a zone's cluster has, without changing anything. The cluster's database names the instances of all members:
 * those of one that does not answer are there, without their settings.
 * @throws DriverError unavailable
 */
export async function stockOf(zone: IncusZone): Promise<Stock> {
  const client = new IncusClient({ addresses: zone.addresses, tls: tlsOf(zone) })
  try {
    await requireProject(client, zone.project)
    const query = { project: zone.project, recursion: '1' }
    const instances = await client.get<Instance[]>(at('/1.0/instances', query))
    const volumes = (await volumeNames(client, zone)).map(({ name }) => idOfVolume(name))
    return {
      ...machinesAmong(instances),
      snapshots: snapshotsAmong(instances),
      volumes: new Set(volumes.filter((id) => id !== null)),
    }
  } catch (error) {
    throw toDriverError(error)
  } finally {
    client.close()
  }
}

/** Requires the project, because a wrong name would look like a cluster that has lost everything. */
async function requireProject(client: IncusClient, name: string): Promise<void> {
  if ((await client.get(`/1.0/projects/${name}`).catch(unless('missing'))) !== null) return
  throw new DriverError(
    'unavailable',
    `The cluster has no project "${name}". If all of it was lost, start the service first, which creates it.`,
  )
}

/** @throws DriverError unavailable */
function machinesAmong(instances: readonly Instance[]): Pick<Stock, 'machines' | 'away'> {
  const machines = new Map<string, boolean>()
  const away = new Set<string>()
  for (const instance of instances) {
    const { name, config } = instance
    if (OTHERS.some((prefix) => name.startsWith(prefix))) continue
    // While Incus moves an instance to another member, it has another name.
    const serverId = serverIdOf(name) ?? serverOf(instance)
    if (serverId !== null) machines.set(serverId, true)
    if (serverId !== null && config === null) away.add(serverId)
    if (serverId === null && config === null)
      throw new DriverError(
        'unavailable',
        `The instance ${name} may be a server that is being moved, and its member does not answer.`,
      )
  }
  return { machines, away }
}

function snapshotsAmong(instances: readonly Instance[]): Map<string, boolean> {
  const ready = instances.filter(({ name }) => name.startsWith(READY))
  return new Map(ready.map(({ name, config }) => [name.slice(READY.length), config !== null]))
}
