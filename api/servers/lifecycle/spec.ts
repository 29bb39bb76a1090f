import type { FastifyBaseLogger as Logger } from 'fastify'
import { type Catalog, findTemplate, type Template } from '../../catalog/file.ts'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { addressesOf } from '../../drivers/addresses.ts'
import type { MachineSpec, PortRange, RescueSpec } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Secrets } from '../../secrets.ts'
import type { Offsite } from '../../snapshots/offsite.ts'
import { openPassword, presentLogin, RESCUE_IMAGE, RESCUE_USER } from '../rescue-login.ts'
import type { ServerTable } from '../tables.ts'
import { storedKeys } from '../view.ts'
import type { Connectivity } from './connectivity.ts'

/** The parts of the program that steps of operations use. */
export interface ProcedureOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  catalog: Catalog
  secrets: Secrets
  connectivity: Connectivity
  offsite: Offsite
  sshPorts: PortRange
  log: Logger
}

/**
 * A server as the driver sees it.
 * @param diskId the id of the operation, which names the disk that it creates
 */
export function machineSpec(
  { catalog, secrets }: ProcedureOptions,
  server: ServerTable,
  diskId: string,
): MachineSpec {
  // The template may have been removed from the catalogue since; a machine with a disk does not need it.
  const template = findTemplate(catalog, server.template_id)
  const keys: { public_key: string }[] = JSON.parse(server.ssh_keys)
  return {
    serverId: server.server_id,
    owner: server.account_id,
    hostname: server.name,
    cpu: server.cpu,
    ramMb: server.ram_mb,
    diskGb: server.disk_gb,
    cpuType: server.cpu_type,
    diskId,
    instanceId: server.instance_id ?? server.server_id,
    image: server.has_disk ? null : imageOf(server, template),
    username: server.username ?? template?.defaultUsername ?? 'root',
    sshPublicKeys: keys.map((key) => key.public_key),
    // A server with keys may have a password too, but its seed must not open SSH for it.
    password: server.password === null || keys.length > 0 ? null : secrets.open(server.password),
    userData: server.user_data === null ? null : secrets.open(server.user_data),
    interfaces: [{ mac: server.mac, addresses: Object.values(addressesOf(server.number ?? 0)) }],
  }
}

function imageOf({ snapshot_id }: ServerTable, template: Template | undefined): MachineSpec['image'] {
  return snapshot_id === null ? (template?.image ?? null) : { snapshotId: snapshot_id }
}

/** The rescue system that a server boots; null: its own disk. */
export function rescueOf({ secrets }: ProcedureOptions, server: ServerTable): RescueSpec | null {
  if (server.rescue_id === null) return null
  const login = presentLogin(server)
  return {
    rescueId: server.rescue_id,
    image: RESCUE_IMAGE,
    hostname: 'rescue',
    username: RESCUE_USER,
    sshPublicKeys: storedKeys(login).map(({ public_key }) => public_key),
    password: openPassword(secrets, login),
  }
}
