// A server's life, by openapi-typescript and openapi-fetch.
import assert from 'node:assert/strict'
import { type components, createClient, type paths } from '../generated/openapi-fetch/index.ts'

type Operation = components['schemas']['Operation']

const { BERTH_URL = '', BERTH_TOKEN = '' } = process.env
const client = createClient<paths>({
  baseUrl: BERTH_URL,
  headers: { Authorization: `Bearer ${BERTH_TOKEN}` },
})

function held<Data>({ data, error }: { data?: Data; error?: components['schemas']['Problem'] }): Data {
  if (data === undefined) throw new Error(`${error?.code}: ${error?.detail}`)
  return data
}

async function succeeded(begun: Pick<Operation, 'operation_id' | 'type'>): Promise<void> {
  const params = { path: { operation_id: begun.operation_id }, query: { wait: 60 } }
  const { type, status, error } = held(await client.GET('/operations/{operation_id}', { params }))
  assert.deepEqual({ type, status, error }, { type: begun.type, status: 'succeeded', error: null })
}

const zone = held(await client.GET('/zones'))[0]
const template = held(await client.GET('/templates'))[0]
const cpuType = zone?.cpu_types[0]
assert(zone && template && cpuType)
const place = { zone_slug: zone.zone_slug, cpu_type: cpuType }
const presets = held(await client.GET('/pricing/presets', { params: { query: place } }))
const preset = presets.find(({ disk_gb }) => disk_gb >= template.min_disk_gb)
assert(preset)
const body = {
  ...place,
  plan_type: 'preset' as const,
  preset_id: preset.preset_id,
  template_id: template.template_id,
}
assert.equal(held(await client.POST('/pricing/quote', { body })).can_create, true)

const made = held(await client.POST('/servers', { body }))
assert.equal(made.status, 'creating')
assert(made.current_operation)
await succeeded(made.current_operation)
const params = { path: { server_id: made.server_id } }
assert.equal(held(await client.GET('/servers/{server_id}', { params })).status, 'running')

const refused = await client.PATCH('/servers/{server_id}', { params, body: { cpu: 2 } })
assert(refused.error?.code === 'server_state_conflict')
assert.deepEqual([refused.error.current_status, refused.error.allowed_statuses], ['running', ['stopped']])

await succeeded(held(await client.POST('/servers/{server_id}/stop', { params, body: { force: true } })))
const size = { cpu: preset.cpu * 2, ram_mb: preset.ram_mb * 2, disk_gb: preset.disk_gb }
const resized = held(
  await client.PATCH('/servers/{server_id}', { params, body: { plan_type: 'custom', ...size } }),
)
assert(resized.current_operation)
await succeeded(resized.current_operation)
await succeeded(held(await client.POST('/servers/{server_id}/start', { params })))
const renamed = held(await client.PATCH('/servers/{server_id}', { params, body: { name: 'renamed' } }))
assert.deepEqual([renamed.name, renamed.cpu], ['renamed', size.cpu])
await succeeded(held(await client.POST('/servers/{server_id}/reboot', { params, body: {} })))

const details = held(await client.GET('/servers/{server_id}/details', { params }))
assert.equal(details.ssh.is_ready, true)
const metrics = held(
  await client.GET('/servers/{server_id}/metrics', { params: { ...params, query: { type: 'cpu' } } }),
)
const [at, value] = metrics.series[0]?.points[0] ?? []
assert(at && at * 1000 < Date.now() && (value === null || typeof value === 'number'))

await succeeded(held(await client.DELETE('/servers/{server_id}', { params })))
const gone = await client.GET('/servers/{server_id}', { params })
assert.equal(gone.error?.code, 'server_not_found')
const { items, total } = held(await client.GET('/events', { params: { query: { limit: 200 } } }))
assert.equal(items.length, total)
assert.equal(items.filter(({ type }) => type === 'server.deleted').length, 1)
