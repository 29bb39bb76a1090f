import { readFileSync } from 'node:fs'
import { messageOf } from '../../message-of.ts'
import { DriverError } from '../driver.ts'
import { IncusClient } from './client.ts'
import { IncusError, unless } from './errors.ts'
import type { IncusServer } from './host.ts'
import { IncusDriver, type IncusOptions } from './incus.ts'
import type { IncusZone } from './zone.ts'

/** @throws DriverError unavailable, with what to do */
export async function openIncus({ address, log, folder, ...options }: IncusOptions): Promise<IncusDriver> {
  // Exports are only for copies off site.
  const zone = { ...options.zone, exports: options.zone.exports === true && folder !== undefined }
  if (options.zone.exports && !zone.exports)
    log.warn({}, 'A zone has exports, but no place off site is set: its snapshots stay in the cluster')
  const client = new IncusClient({ addresses: zone.addresses, tls: tlsOf(zone) })
  try {
    const server = await client.get<IncusServer>('/1.0')
    if (server.auth !== 'trusted')
      throw new DriverError(
        'unavailable',
        'The cluster does not trust this certificate: add it with incus config trust.',
      )
    await makeProject(client, zone.project)
    if (zone.uplink !== undefined && !(await hasNetwork(client, zone.uplink)))
      log.warn({ uplink: zone.uplink }, 'The uplink of the zone is not a network of its cluster')
    const { server: product, server_version, server_clustered } = server.environment
    log.info({ version: server_version, clustered: server_clustered }, `Machines run on ${product}`)
    return new IncusDriver({ zone, address: zone.listen ?? address, log, folder, client, server })
  } catch (error) {
    client.close()
    throw error instanceof IncusError
      ? new DriverError('unavailable', `Incus can't be used: ${error.message}.`, { cause: error })
      : error
  }
}

/** @throws DriverError unavailable */
export function tlsOf({ certificate, key, server_certificate }: IncusZone) {
  if (!certificate || !key || !server_certificate) return null
  try {
    const [cert, secret, ca] = [certificate, key, server_certificate].map((file) =>
      readFileSync(file, 'utf8'),
    )
    return { cert: cert ?? '', key: secret ?? '', ca: ca ?? '' }
  } catch (error) {
    throw new DriverError('unavailable', `A certificate of the zone can't be read: ${messageOf(error)}.`)
  }
}

async function hasNetwork(client: IncusClient, name: string): Promise<boolean> {
  return (await client.get(`/1.0/networks/${name}`).catch(unless('missing'))) !== null
}

/** Creates a project for Berth alone, which shares the images of the whole cluster. */
async function makeProject(client: IncusClient, name: string): Promise<void> {
  const found = await client.get(`/1.0/projects/${name}`).catch(unless('missing'))
  if (found !== null) return
  const config = {
    'features.images': 'false',
    'features.profiles': 'true',
    'features.storage.volumes': 'true',
  }
  const body = { name, description: 'Servers of Berth', config }
  await client.call('POST', '/1.0/projects', { body }).catch(unless('exists'))
}
