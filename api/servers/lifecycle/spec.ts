import type { FastifyBaseLogger as Logger } from 'fastify'
import { type Catalog, findTemplate } from '../../catalog/file.ts'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import type { ServerTable } from '../../database/schema.ts'
import type { Driver, MachineSpec } from '../../drivers/driver.ts'
import type { Secrets } from '../../secrets.ts'
import type { PortRange } from '../ports.ts'

/** What the steps of operations work with. */
export interface ProcedureOptions {
  db: Database
  clock: Clock
  driver: Driver
  catalog: Catalog
  secrets: Secrets
  sshPorts: PortRange
  log: Logger
}

/** What the driver has to know of a server. */
export function machineSpec({ catalog, secrets }: ProcedureOptions, server: ServerTable): MachineSpec {
  const template = findTemplate(catalog, server.template_id)
  const keys: { public_key: string }[] = JSON.parse(server.ssh_keys)
  return {
    serverId: server.server_id,
    hostname: server.name,
    cpu: server.cpu,
    ramMb: server.ram_mb,
    diskGb: server.disk_gb,
    cpuType: server.cpu_type,
    // A template that was taken off the catalogue since: the machine has its disk, the image is only for new ones.
    image: template?.image ?? { slug: '', sources: [] },
    username: template?.defaultUsername ?? 'root',
    sshPublicKeys: keys.map((key) => key.public_key),
    password: server.password === null ? null : secrets.open(server.password),
    userData: server.user_data === null ? null : secrets.open(server.user_data),
    mac: server.mac,
    sshPort: server.ssh_port ?? 0,
  }
}
