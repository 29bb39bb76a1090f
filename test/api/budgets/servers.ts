import { bootableIso } from '../../../api/drivers/test-iso.ts'
import { catalogWith } from '../../harness/addresses.ts'
import { type Call, type TestApp, testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'
import type { Meter } from './meter.ts'

const RANGES = 'public_ipv4: [203.0.113.0/28]\npublic_ipv6: 2001:db8:7::/48'
const HOUR = 3600_000

/** Carries out what a request has begun, and relays its events, which are noted, too. */
async function carriedOut(meter: Meter, t: TestApp, name: string): Promise<void> {
  await t.app.events.relay()
  await meter.note(`${name}: carried out`, () => t.finish())
  await meter.note(`${name}: events relayed`, () => t.app.events.relay())
}

/** Uses the routes of servers, and carries out each of their operations. */
export async function walkServers(meter: Meter): Promise<void> {
  const t = await testApp()
  const call = meter.measured(t, t.call, '/account/me')
  await make(t, { name: 'web-0' })
  const created = await call('POST', '/servers', await order(t.call, { name: 'web-1' }))
  await carriedOut(meter, t, 'create')
  const { server_id, current_operation } = created.body
  const { operation_id } = current_operation
  const server = `/servers/${server_id}`
  const parts = ['', '/details', '/stats', '/metrics', '/operations', `/operations/${operation_id}`, '/ports']
  for (const part of parts) await call('GET', `${server}${part}`)
  for (const path of ['/servers', '/operations', `/operations/${operation_id}`]) await call('GET', path)
  await call('PATCH', server, { name: 'web-2' })
  await call('POST', `${server}/console`, {})
  await call('POST', `${server}/screen`, {})
  const port = await call('POST', `${server}/ports`, { protocol: 'tcp', port: 80 })
  await call('DELETE', `${server}/ports/${port.body.port_id}`)
  await meter.note('PATCH /servers/{server_id} with a larger disk', () =>
    t.call('PATCH', server, { disk_gb: 15 }),
  )
  await t.finish()
  await t.app.events.relay()
  await call('POST', `${server}/reboot`, {})
  await carriedOut(meter, t, 'reboot')
  await call('POST', `${server}/stop`, {})
  await carriedOut(meter, t, 'stop')
  await meter.note('PATCH /servers/{server_id} with another plan', () => t.call('PATCH', server, { cpu: 2 }))
  await carriedOut(meter, t, 'resize')
  await call('POST', `${server}/start`, {})
  await carriedOut(meter, t, 'start')
  await call('POST', `${server}/rebuild`, { template_id: created.body.template_id })
  await carriedOut(meter, t, 'rebuild')
  await call('POST', `${server}/reset_password`)
  await carriedOut(meter, t, 'reset_password')
  for (const type of ['rescue', 'unrescue']) {
    await call('POST', `${server}/${type}`, {})
    await carriedOut(meter, t, type)
  }
  const { snapshot_id } = (await call('POST', '/snapshots', { server_id })).body
  await carriedOut(meter, t, 'snapshot')
  const snapshot = `/snapshots/${snapshot_id}`
  for (const read of [snapshot, '/snapshots']) await call('GET', read)
  await call('PATCH', snapshot, { name: 'kept' })
  await call('POST', `${server}/restore`, { snapshot_id })
  await carriedOut(meter, t, 'restore')
  const { image_id } = (await call('POST', '/images', { name: 'golden', snapshot_id })).body
  await carriedOut(meter, t, 'import')
  const image = `/images/${image_id}`
  for (const read of [image, '/images']) await call('GET', read)
  await call('PATCH', image, { name: 'kept' })
  await call('DELETE', image)
  await walkUpload(meter, t, call)
  await walkIso(meter, t, call, server)
  await call('DELETE', snapshot)
  await call('DELETE', server)
  await carriedOut(meter, t, 'delete')
}

/** Uploads a file, and makes an image of it. */
async function walkUpload(meter: Meter, t: TestApp, call: TestApp['call']): Promise<void> {
  const { zone_slug } = await order(t.call)
  const begun = { name: 'own', upload: true, content_bytes: 512, zone_slug }
  const { image_id } = (await call('POST', '/images', begun)).body
  const disk = Buffer.alloc(512)
  disk.writeUInt16BE(0x55aa, 510)
  const headers = { 'content-type': 'application/octet-stream', 'upload-offset': '0' }
  await call('PATCH', `/images/${image_id}/content`, disk, headers)
  await call('POST', `/images/${image_id}/import`, {})
  await carriedOut(meter, t, 'import of a file')
  await call('DELETE', `/images/${image_id}`)
}

/** Uploads an ISO, and puts it into the drive of a server. */
async function walkIso(meter: Meter, t: TestApp, call: TestApp['call'], server: string): Promise<void> {
  const { zone_slug } = await order(t.call)
  const file = bootableIso('An installer')
  const begun = { name: 'installer', upload: true, content_bytes: file.length, zone_slug }
  const { iso_id } = (await call('POST', '/isos', begun)).body
  const iso = `/isos/${iso_id}`
  const headers = { 'content-type': 'application/octet-stream', 'upload-offset': '0' }
  await call('PATCH', `${iso}/content`, file, headers)
  await call('POST', `${iso}/import`, {})
  await carriedOut(meter, t, 'import of an ISO')
  for (const read of [iso, '/isos']) await call('GET', read)
  await call('PATCH', iso, { name: 'kept' })
  for (const drive of [{ iso_id }, { iso_id: null }]) {
    const name = drive.iso_id === null ? 'eject_iso' : 'insert_iso'
    await meter.note(`PATCH /servers/{server_id}: ${name}`, () => t.call('PATCH', server, drive))
    await carriedOut(meter, t, name)
  }
  await call('DELETE', iso)
}

/** Uses the routes of daily backups, carries one out, and turns it into a snapshot. */
export async function walkBackups(meter: Meter): Promise<void> {
  const t = await testApp()
  const call = meter.measured(t, t.call, '/account/me')
  const server_id = await make(t, { name: 'web-1', backups_enabled: true, backup_window: 3 })
  t.clock.advance(86_400_000)
  await meter.note('backups that are due: begun', () => t.app.backups.look())
  await carriedOut(meter, t, 'backup')
  const [{ backup_id }] = (await call('GET', `/servers/${server_id}/backups`)).body.items
  for (const read of [`/backups/${backup_id}`, '/backups']) await call('GET', read)
  await call('POST', `/backups/${backup_id}/snapshot`, {})
  t.clock.advance(86_400_000)
  await t.app.backups.look()
  await t.finish()
  const [next] = (await call('GET', '/backups')).body.items
  await call('DELETE', `/backups/${next.backup_id}`)
  await t.app.serviceMails.look()
  t.driver.turnsOffByItself(server_id, 'crashed')
  await meter.note('look after a server that died', () => t.app.reconciler.look())
  await t.finish()
  t.clock.advance(120_000)
  await meter.note('mail about servers: one is down', () => t.app.serviceMails.look())
  await meter.note('mail about servers: none is due', () => t.app.serviceMails.look())
  await meter.note('look for limits that are nearly reached: none', () => t.app.limitMails.look())
}

/** Uses the routes by which servers reach each other and the world. */
export async function walkNetworks(meter: Meter): Promise<void> {
  const t = await testApp({ catalog: catalogWith(RANGES) })
  const call = meter.measured(t, t.call, '/account/me')
  const server_id = await make(t, { name: 'web-1', enable_ipv4: false })
  await walkFirewalls(call, server_id)
  const network = { name: 'inner', zone_slug: 'local-1', ip_range: '10.1.0.0/24' }
  const made = await call('POST', '/networks', network)
  const path = `/networks/${made.body.network_id}`
  await call('POST', `${path}/servers`, { server_id })
  await carriedOut(meter, t, 'attach a network')
  for (const read of [path, '/networks']) await call('GET', read)
  await call('PATCH', path, { name: 'inside' })
  await call('DELETE', `${path}/servers/${server_id}`)
  await carriedOut(meter, t, 'detach a network')
  await call('DELETE', path)
  await walkVolumes(meter, t, call, server_id)

  const reserved = await call('POST', '/addresses', { zone_slug: 'local-1', family: 'ipv4' })
  const address = `/addresses/${reserved.body.address_id}`
  for (const read of [address, '/addresses']) await call('GET', read)
  await call('PATCH', address, { server_id })
  await call('PATCH', address, { server_id: null })
  await call('DELETE', address)
}

async function walkVolumes(meter: Meter, t: TestApp, call: Call, server_id: string): Promise<void> {
  const { body } = await call('POST', '/volumes', { name: 'data', zone_slug: 'local-1', size_gb: 1 })
  const volume = `/volumes/${body.volume_id}`
  await call('POST', `${volume}/attach`, { server_id })
  await carriedOut(meter, t, 'attach a volume')
  for (const read of [volume, '/volumes']) await call('GET', read)
  await call('PATCH', volume, { size_gb: 2 })
  await carriedOut(meter, t, 'grow a volume')
  await call('POST', `${volume}/detach`)
  await carriedOut(meter, t, 'detach a volume')
  await call('DELETE', volume)
  await carriedOut(meter, t, 'delete a volume')
}

async function walkFirewalls(call: Call, server_id: string): Promise<void> {
  const rules = [{ direction: 'in', protocol: 'tcp', ports: '22' }]
  const { body } = await call('POST', '/firewalls', { name: 'web', rules })
  const firewall = `/firewalls/${body.firewall_id}`
  await call('POST', `${firewall}/servers`, { server_ids: [server_id] })
  for (const read of [firewall, '/firewalls']) await call('GET', read)
  await call('PATCH', firewall, { rules: [] })
  await call('DELETE', `${firewall}/servers/${server_id}`)
  await call('DELETE', firewall)
}

/** Does once all that runs in the background, for three servers. */
export async function walkBackground(meter: Meter): Promise<void> {
  const t = await testApp()
  for (const name of ['web-1', 'web-2', 'web-3']) await make(t, { name })
  await meter.note('relay the events of three orders', () => t.app.events.relay())
  await meter.note('look for events: none', () => t.app.events.look())
  await meter.note('look for operations: none due', async () => {
    await t.app.engine.tick()
    await t.app.engine.nextDueAt()
  })
  await t.app.sampler.round()
  t.clock.advance(10_000)
  await meter.note('sample three servers', () => t.app.sampler.round())
  await t.app.billing.look()
  t.clock.advance(HOUR)
  await meter.note('charge three servers for an hour', () => t.app.billing.look())
  await meter.note('look after three servers', () => t.app.reconciler.look())
  await meter.note('look for webhooks that are due: none', () => t.app.webhooks.tick())
  await meter.note('delete old rows: none', () => t.app.retention.look())
  await meter.note('delete old events: none', () => t.app.events.clean())
}
