import Type, { type Static } from 'typebox'
import { Project } from '../accounts/schema.ts'
import { CpuTypeName, Preset, Template, Zone } from '../catalog/schema.ts'
import { HourPrice, Money, nullable, Timestamp, Uuid } from '../http/fields.ts'
import { pagingQuery } from '../http/paging.ts'
import { figures } from '../monitoring/schema.ts'
import { statuses } from './states.ts'

const PlanType = Type.Enum(['preset', 'custom'])
const Name = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$',
  errorMessage: 'must be a host name: letters, digits and dashes, with no dash at either end.',
})
const Labels = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 32,
  propertyNames: {
    pattern: '^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$',
    errorMessage: 'must have names of letters, digits and . _ / - (63 at most).',
  },
  additionalProperties: { type: 'string', maxLength: 63 },
})
const Description = nullable(Type.String({ maxLength: 255 }))
const plan = {
  preset_id: Type.Optional(Uuid),
  cpu: Type.Optional(Type.Integer({ minimum: 1 })),
  ram_mb: Type.Optional(Type.Integer({ minimum: 1 })),
  disk_gb: Type.Optional(Type.Integer({ minimum: 1 })),
}
const SIZE = ['cpu', 'ram_mb', 'disk_gb']
/** Part of a schema's rules: these fields must be there, these must not; the rest is not its affair. */
const fields = (required: readonly string[], forbidden: readonly string[], known: object = {}) => ({
  required,
  properties: {
    ...Object.fromEntries(required.map((name) => [name, true])),
    ...Object.fromEntries(forbidden.map((name) => [name, false])),
    ...known,
  },
  additionalProperties: true,
})
const isPlan = (value: string) => fields(['plan_type'], [], { plan_type: { const: value } })
/** JSON Schema's conditional: what holds where the condition does. */
// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema; nobody awaits a schema
const when = (condition: object, consequence: object) => ({ if: condition, then: consequence })

const planRules = {
  allOf: [
    when(isPlan('preset'), fields(['preset_id'], SIZE)),
    when(isPlan('custom'), fields(SIZE, ['preset_id'])),
  ],
}
const order = {
  zone_slug: Type.String(),
  plan_type: PlanType,
  cpu_type: CpuTypeName,
  ...plan,
  name: Type.Optional(Name),
  project_id: Type.Optional(Uuid),
  description: Type.Optional(Description),
  ssh_key_ids: Type.Optional(Type.Array(Uuid, { maxItems: 20, uniqueItems: true })),
  user_data: Type.Optional(
    nullable(Type.String({ maxLength: 65_536, description: 'cloud-init user data, up to 64 KiB' })),
  ),
  labels: Type.Optional(Labels),
  start_on_create: Type.Optional(Type.Boolean({ default: true })),
  delete_protection: Type.Optional(Type.Boolean({ default: false })),
}

export const ServerCreate = Type.Object(
  { ...order, template_id: Uuid },
  { title: 'ServerCreate', ...planRules },
)
export type ServerCreate = Static<typeof ServerCreate>

/** The body of create; what a price does not depend on may be left out. */
export const QuoteRequest = Type.Object(
  { ...order, template_id: Type.Optional(Uuid) },
  { title: 'QuoteRequest', ...planRules },
)
export type QuoteRequest = Static<typeof QuoteRequest>

export const Quote = Type.Object(
  {
    zone_slug: Type.String(),
    cpu_type: CpuTypeName,
    plan_type: PlanType,
    preset_id: nullable(Uuid),
    cpu: Type.Integer(),
    ram_mb: Type.Integer(),
    disk_gb: Type.Integer(),
    currency: Type.Enum(['RUB']),
    price_hour_rub: HourPrice,
    price_month_rub: Money,
    items: Type.Array(
      Type.Object({
        code: Type.Enum(['cpu', 'ram', 'disk', 'preset']),
        quantity: Type.Number(),
        unit: Type.Enum(['core', 'gb', 'preset']),
        price_unit_month_rub: Money,
        price_month_rub: Money,
      }),
    ),
    is_available: Type.Boolean({ description: 'Whether there is room for it now' }),
    can_create: Type.Boolean({ description: 'Whether create would take this request now' }),
    blockers: Type.Array(Type.Object({ code: Type.String(), detail: Type.String() })),
    quoted_at: Timestamp,
  },
  { title: 'Quote' },
)
export type Quote = Static<typeof Quote>

export const ServerUpdate = Type.Object(
  {
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    labels: Type.Optional(Labels),
    project_id: Type.Optional(Uuid),
    delete_protection: Type.Optional(Type.Boolean()),
    plan_type: Type.Optional(PlanType),
    ...plan,
  },
  {
    title: 'ServerUpdate',
    minProperties: 1,
    allOf: [
      when(isPlan('preset'), fields(['preset_id'], SIZE)),
      when(isPlan('custom'), fields([], ['preset_id'])),
      when(fields(['preset_id'], []), fields([], SIZE)),
    ],
  },
)
export type ServerUpdate = Static<typeof ServerUpdate>

export const StartRequest = Type.Object({}, { title: 'StartRequest' })
export const StopRequest = Type.Object(
  {
    force: Type.Optional(
      Type.Boolean({ default: false, description: 'Pull the plug at once instead of asking the guest' }),
    ),
    timeout_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 600,
        default: 60,
        description: 'How long the guest may take to shut down before its plug is pulled',
      }),
    ),
  },
  { title: 'StopRequest' },
)
export type StopRequest = Static<typeof StopRequest>

const OperationStatus = Type.Enum(['pending', 'running', 'succeeded', 'failed', 'canceled'])
const OperationTypeName = Type.Enum(['create', 'start', 'stop', 'reboot', 'resize', 'delete'])
const Progress = Type.Integer({ minimum: 0, maximum: 100 })

export const Operation = Type.Object(
  {
    operation_id: Uuid,
    server_id: Uuid,
    type: OperationTypeName,
    status: OperationStatus,
    progress: Progress,
    step: Type.String(),
    error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
    created_at: Timestamp,
    started_at: nullable(Timestamp),
    finished_at: nullable(Timestamp),
  },
  { title: 'Operation' },
)
export type Operation = Static<typeof Operation>

export const OperationWait = Type.Object({
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 60,
      default: 0,
      description: 'Seconds to wait for the end of the operation',
    }),
  ),
})

const server = {
  server_id: Uuid,
  name: Type.String(),
  description: nullable(Type.String()),
  project_id: Uuid,
  zone_slug: Type.String(),
  status: Type.Enum([...statuses]),
  status_reason: nullable(Type.String()),
  plan_type: PlanType,
  cpu_type: CpuTypeName,
  preset_id: nullable(Uuid),
  cpu: Type.Integer(),
  ram_mb: Type.Integer(),
  disk_gb: Type.Integer(),
  template_id: Uuid,
  ssh_key_ids: Type.Array(Uuid),
  ipv4: nullable(Type.String({ description: 'Public address of its own, where it has one' })),
  ipv6: nullable(Type.String()),
  labels: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
  delete_protection: Type.Boolean(),
  price_month_rub: Money,
  price_hour_rub: HourPrice,
  current_operation: nullable(
    Type.Object({ operation_id: Uuid, type: OperationTypeName, status: OperationStatus, progress: Progress }),
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
  started_at: nullable(Timestamp),
}
export const Server = Type.Object(server, { title: 'Server' })
export type Server = Static<typeof Server>

const Address = nullable(
  Type.Object({ address: Type.String(), prefix_length: Type.Integer(), gateway: Type.String() }),
)

export const ServerDetails = Type.Object(
  {
    ...server,
    project: Project,
    zone: nullable(Zone),
    template: nullable(Template),
    preset: nullable(Preset),
    network: Type.Object({ hostname: Type.String(), mac: Type.String(), ipv4: Address, ipv6: Address }),
    ssh: Type.Object({
      host: Type.String(),
      port: nullable(Type.Integer()),
      username: Type.String(),
      command: nullable(Type.String({ description: 'Pasted into a terminal it logs in' })),
      auth_methods: Type.Array(Type.Enum(['public_key', 'password'])),
      keys: Type.Array(Type.Object({ ssh_key_id: Uuid, name: Type.String(), fingerprint: Type.String() })),
      host_key_fingerprints: Type.Array(
        Type.Object({ type: Type.String(), fingerprint: Type.String(), public_key: Type.String() }),
      ),
      is_ready: Type.Boolean(),
      password: nullable(Type.String()),
    }),
    billing: Type.Object({
      price_hour_rub: HourPrice,
      price_month_rub: Money,
      billed_since: nullable(Timestamp),
      month_to_date_rub: Money,
      is_billed_when_stopped: Type.Boolean(),
    }),
    allowed_actions: Type.Array(Type.Enum(['start', 'stop', 'reboot', 'update', 'resize', 'delete'])),
  },
  { title: 'ServerDetails' },
)
export type ServerDetails = Static<typeof ServerDetails>

export const ServerStats = Type.Object(
  {
    server_id: Uuid,
    status: Type.Enum([...statuses]),
    uptime_seconds: nullable(
      Type.Integer({ minimum: 0, description: 'Since started_at; null when it is off' }),
    ),
    ...figures,
  },
  { title: 'ServerStats' },
)
export type ServerStats = Static<typeof ServerStats>

export const ServerQuery = Type.Object({
  ...pagingQuery,
  project_id: Type.Optional(Uuid),
  zone_slug: Type.Optional(Type.String({ maxLength: 64 })),
  status: Type.Optional(Type.Enum([...statuses])),
  plan_type: Type.Optional(PlanType),
  cpu_type: Type.Optional(CpuTypeName),
  template_id: Type.Optional(Uuid),
  name: Type.Optional(Type.String({ maxLength: 63, description: 'The whole name' })),
  label: Type.Optional(Type.String({ maxLength: 128, pattern: '^[^=]', description: 'name or name=value' })),
  sort: Type.Optional(Type.Enum(['created_at', '-created_at', 'name', '-name'], { default: '-created_at' })),
})
export type ServerQuery = Static<typeof ServerQuery>
