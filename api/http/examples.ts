import type { TSchema } from 'typebox'

/** What fields look like in the examples of the API's description, by their names. */
const VALUES: Record<string, unknown> = {
  account_id: '01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11',
  project_id: '01a1fb44-5997-73df-a23c-ea72e7720849',
  default_project_id: '01a1fb44-5997-73df-a23c-ea72e7720849',
  ssh_key_id: '01a1fb45-1ab5-76a6-be1c-72070ab457ce',
  ssh_key_ids: ['01a1fb45-1ab5-76a6-be1c-72070ab457ce'],
  server_id: '01a1fb45-1ac2-75b7-a056-9ee82769d403',
  operation_id: '01a1fb45-1ac4-7139-823a-0f4159fa3bf6',
  template_id: '9ef5d402-7877-5f38-9a75-eb3232b25976',
  preset_id: 'b9c43e68-d1e3-58c7-a042-2cef0167acdb',
  token_id: '01a1fb44-5a01-7b9e-9f55-3a0e9a1b2c3d',
  transaction_id: '01a1fb44-5a10-7c1d-8e4b-6d5c4b3a2f1e',
  event_id: '01a1fb44-5a20-7c1d-8e4b-6d5c4b3a2f1e',
  webhook_id: '01a1fb44-5a40-7c1d-8e4b-6d5c4b3a2f1e',
  delivery_id: '01a1fb44-5a50-7c1d-8e4b-6d5c4b3a2f1e',
  url: 'https://example.com/hooks/berth',
  event_types: ['server.status_changed', 'balance.low'],
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  disabled_reason: null,
  attempts: [
    {
      attempted_at: '2026-11-20T12:00:00.000Z',
      duration_ms: 87,
      reply_status: 200,
      reply: 'ok',
      error: null,
    },
  ],
  audit_id: '01a1fb44-5a30-7c1d-8e4b-6d5c4b3a2f1e',
  object_id: '01a1fb44-5997-73df-a23c-ea72e7720849',
  after: '01a1fb44-5a20-7c1d-8e4b-6d5c4b3a2f1e',
  name: 'web-1',
  title: 'Debian 12 (bookworm)',
  description: 'The shop',
  email: 'ann@example.com',
  public_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGMoMIFDVDohmm63YQ52UEi7TFEZ74Msn8Vi7fKlJwH0 ann@laptop',
  fingerprint: 'SHA256:BG2L77QnDhh1ECY49/Cdlc8DfQd+VK7WLhpBisLHfiQ',
  key_type: 'ssh-ed25519',
  zone_slug: 'local-1',
  slug: 'debian-12',
  city: 'Local',
  country_code: 'ZZ',
  os_family: 'debian',
  default_username: 'debian',
  cpu: 1,
  ram_mb: 512,
  disk_gb: 10,
  min_disk_gb: 5,
  server_count: 1,
  price_month_rub: '300.00',
  price_unit_month_rub: '180.00',
  price_hour_rub: '0.4110',
  cost_month_rub: '300.00',
  cost_hour_rub: '0.4110',
  cpu_month_rub: '180.00',
  ram_gb_month_rub: '120.00',
  disk_gb_month_rub: '6.00',
  month_to_date_rub: '12.33',
  balance: '10000.00',
  balance_after: '10000.00',
  amount: '500.00',
  hours_left: 24330,
  total: 1,
  limit: 20,
  used: 1,
  quantity: 1,
  status: 'running',
  status_reason: null,
  user_data: '#cloud-config\npackages: [nginx]\n',
  labels: { env: 'prod' },
  ipv4: null,
  ipv6: null,
  current_operation: null,
  step: 'ready',
  progress: 100,
  error: null,
  hostname: 'web-1',
  mac: '52:54:00:ba:47:7a',
  host: '127.0.0.1',
  port: 22424,
  username: 'debian',
  command: 'ssh -p 22424 debian@127.0.0.1',
  password: null,
  scopes: ['servers:read', 'servers:write'],
  token: 'berth_fTXkWatBsdn82aEM5WuXbnyIDIa8sEqZo5tXGcsSKSD0PeVXc',
  expires_at: null,
  last_used_at: null,
  finished_at: '2026-11-20T12:00:05.000Z',
  blockers: [],
  uptime_seconds: 86_400,
  usage_percent: 12.5,
  total_mb: 512,
  used_mb: 181.3,
  total_gb: 10,
  used_gb: 0.42,
  read_bytes_total: 52_428_800,
  write_bytes_total: 8_388_608,
  read_bytes_per_second: 4096,
  write_bytes_per_second: 1024,
  rx_bytes_total: null,
  tx_bytes_total: null,
  rx_bytes_per_second: null,
  tx_bytes_per_second: null,
  unit: 'percent',
  start: '2026-11-20T11:00:00.000Z',
  end: '2026-11-20T12:00:00.000Z',
  points: [
    [1_795_172_400, 12.5],
    [1_795_172_420, null],
  ],
  request_id: '6a1de9b8-52f4-4b0c-9d57-0e1f5b0a7c55',
}

/** A reply or request body as it could be: every field of the schema, with the values above where they fit. */
export function exampleOf(schema: TSchema, name = ''): unknown {
  const shape = schema as Shape // a schema has these words, each or none
  const {
    type,
    properties,
    items,
    anyOf,
    format,
    minimum,
    examples,
    enum: allowed,
    default: fallback,
  } = shape
  const known = VALUES[name]
  if (known !== undefined && fits(shape, known)) return known
  if (examples) return examples[0]
  if (fallback !== undefined) return fallback
  if (allowed) return allowed[0]
  if (anyOf) return anyOf[0] && exampleOf(anyOf[0], name)
  if (properties)
    return Object.fromEntries(
      Object.entries(properties).map(([field, part]) => [field, exampleOf(part, field)]),
    )
  if (type === 'array') return items ? [exampleOf(items, name.replace(/s$/, ''))] : []
  if (type === 'object') return {}
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return minimum ?? 1
  return format === 'date-time' ? '2026-11-20T12:00:00.000Z' : 'text'
}

/** The words of JSON Schema that an example depends on. */
interface Shape {
  type?: string
  enum?: readonly unknown[]
  properties?: Record<string, TSchema>
  items?: TSchema
  anyOf?: readonly TSchema[]
  format?: string
  minimum?: number
  default?: unknown
  examples?: readonly unknown[]
}

/** Whether a value is of the schema's kind: one name can mean two things. */
function fits({ type, enum: allowed, anyOf, properties }: Shape, value: unknown): boolean {
  if (anyOf) return anyOf.some((part) => fits(part as Shape, value)) // a schema has the words of one
  if (allowed) return allowed.includes(value)
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer' || type === 'number') return typeof value === 'number'
  if (type === 'object')
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !properties
  return typeof value === type
}
