// A server's life, by @hey-api/openapi-ts.
import assert from 'node:assert/strict'
import { client } from '../generated/hey-api/client.gen.ts'
import {
  createServer,
  deleteServer,
  getAccountOperation,
  getServer,
  getServerDetails,
  getServerMetrics,
  listEvents,
  listPresets,
  listTemplates,
  listZones,
  type Operation,
  type Problem,
  quoteServer,
  rebootServer,
  type ServerCreate,
  startServer,
  stopServer,
  updateServer,
} from '../generated/hey-api/index.ts'

const { BERTH_URL = '', BERTH_TOKEN = '' } = process.env
client.setConfig({ baseUrl: BERTH_URL, auth: BERTH_TOKEN })

function held<Data>({ data, error }: { data?: Data; error?: Problem }): Data {
  if (data === undefined) throw new Error(`${error?.code}: ${error?.detail}`)
  return data
}

async function succeeded(begun: Pick<Operation, 'operation_id' | 'type'>): Promise<void> {
  const options = { path: { operation_id: begun.operation_id }, query: { wait: 60 } }
  const { type, status, error } = held(await getAccountOperation(options))
  assert.deepEqual({ type, status, error }, { type: begun.type, status: 'succeeded', error: null })
}

const zone = held(await listZones())[0]
const template = held(await listTemplates())[0]
const cpuType = zone?.cpu_types[0]
assert(zone && template && cpuType)
const place = { zone_slug: zone.zone_slug, cpu_type: cpuType }
const preset = held(await listPresets({ query: place })).find(
  ({ disk_gb }) => disk_gb >= template.min_disk_gb,
)
assert(preset)
const size = { cpu: preset.cpu, ram_mb: preset.ram_mb, disk_gb: preset.disk_gb }
const body: ServerCreate = { ...place, plan_type: 'custom', ...size, template_id: template.template_id }
assert.deepEqual(held(await quoteServer({ body })).blockers, [])

const made = held(await createServer({ body, headers: { 'Idempotency-Key': crypto.randomUUID() } }))
assert.equal(made.status, 'creating')
assert(made.current_operation)
await succeeded(made.current_operation)
const path = { server_id: made.server_id }
assert.equal(held(await getServer({ path })).status, 'running')

const { error } = await updateServer({ path, body: { name: '-' } })
assert(error?.code === 'validation_failed')
assert.deepEqual(
  error.errors.map(({ pointer, code }) => [pointer, code]),
  [['/name', 'invalid_format']],
)

await succeeded(held(await stopServer({ path, body: { timeout_seconds: 5 } })))
const resized = held(await updateServer({ path, body: { cpu: size.cpu * 2 } }))
assert(resized.current_operation)
await succeeded(resized.current_operation)
await succeeded(held(await startServer({ path })))
assert.equal(held(await updateServer({ path, body: { name: 'renamed' } })).name, 'renamed')
await succeeded(held(await rebootServer({ path, body: {} })))

assert.equal(held(await getServerDetails({ path })).cpu, size.cpu * 2)
const metrics = held(await getServerMetrics({ path, query: { type: 'cpu,memory' } }))
assert.deepEqual(
  metrics.series.map(({ type }) => type),
  ['cpu', 'memory'],
)
const [point] = metrics.series[0]?.points ?? []
assert(point)
const [at, value]: readonly [number, number | null] = point
assert(at * 1000 < Date.now() && (value === null || value >= 0))

await succeeded(held(await deleteServer({ path })))
const gone = await getServer({ path })
assert.equal(gone.error?.code, 'server_not_found')
const { items } = held(await listEvents({ query: { limit: 200 } }))
assert(items.some(({ type, data }) => type === 'server.deleted' && data.server_id === made.server_id))
