import Type, { type Static, type TSchema } from 'typebox'
import { Project, ProjectId, SshKeyId } from '../accounts/schema.ts'
import {
  CpuTypeName,
  Preset,
  PresetId,
  size,
  Template,
  TemplateId,
  Zone,
  ZoneSlug,
} from '../catalog/schema.ts'
import { HourPrice, Money, nullable, Timestamp, uuid } from '../http/fields.ts'
import { pagingQuery } from '../http/paging.ts'
import { defineProblems } from '../http/problem.ts'
import { figures } from '../monitoring/schema.ts'
import { OperationStatus, Progress } from '../operations/schema.ts'
import { operationTypes } from './lifecycle/operations.ts'
import { statuses } from './states.ts'

const ServerId = uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403')
const OperationId = uuid('01a1fb45-1ac4-7139-823a-0f4159fa3bf6')
export const serverProblems = defineProblems({
  server_not_found: { status: 404, title: 'No such server' },
  server_state_conflict: {
    status: 409,
    title: 'The server is not in a state that allows this',
    members: {
      current_status: Type.Enum([...statuses], { description: 'Its status', examples: ['running'] }),
      allowed_statuses: Type.Array(Type.Enum([...statuses]), {
        description: 'Statuses that allow it',
        examples: [['stopped', 'error']],
      }),
    },
  },
  operation_in_progress: {
    status: 409,
    title: 'Another operation is in progress',
    isRetried: true,
    members: { operation_id: nullable(OperationId, { description: 'The operation to wait for' }) },
  },
  delete_protected: { status: 409, title: 'The server is protected from deletion' },
})

const PlanType = Type.Enum(['preset', 'custom'])
const Name = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$',
  examples: ['web-1'],
  errorMessage: 'must be a host name: letters, digits and dashes, without a dash at either end.',
})
const LABEL_NAME = '[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?'
/** One of a selector: a label that is there or not, or has a value or not. */
const LABEL_TERM = `(!?${LABEL_NAME}|${LABEL_NAME}!?=[^,]*)`
const Labels = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 32,
  examples: [{ env: 'prod' }],
  propertyNames: {
    pattern: `^${LABEL_NAME}$`,
    errorMessage: 'must have names of letters, digits and . _ / - (63 at most).',
  },
  additionalProperties: { type: 'string', maxLength: 63 },
})
const Description = nullable(Type.String({ maxLength: 255, examples: ['The shop'] }))
const customSize = {
  cpu: Type.Integer({ minimum: 1, description: 'Cores of a custom plan', examples: [2] }),
  ram_mb: Type.Integer({ minimum: 1, description: 'Memory in MB of a custom plan', examples: [2048] }),
  disk_gb: Type.Integer({ minimum: 1, description: 'Disk in GB of a custom plan', examples: [20] }),
}
const plan = {
  preset_id: Type.Optional(PresetId),
  cpu: Type.Optional(customSize.cpu),
  ram_mb: Type.Optional(customSize.ram_mb),
  disk_gb: Type.Optional(customSize.disk_gb),
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
  zone_slug: ZoneSlug,
  plan_type: PlanType,
  cpu_type: CpuTypeName,
  ...plan,
  name: Type.Optional(Name),
  project_id: Type.Optional(ProjectId),
  description: Type.Optional(Description),
  ssh_key_ids: Type.Optional(Type.Array(SshKeyId, { maxItems: 20, uniqueItems: true })),
  user_data: Type.Optional(
    nullable(Type.String({ maxLength: 65_536, description: 'cloud-init user data, up to 64 KiB' })),
  ),
  labels: Type.Optional(Labels),
  start_on_create: Type.Optional(Type.Boolean({ default: true })),
  delete_protection: Type.Optional(Type.Boolean({ default: false })),
}

const orderExample = {
  zone_slug: 'local-1',
  plan_type: 'preset',
  cpu_type: 'amd',
  preset_id: 'b9c43e68-d1e3-58c7-a042-2cef0167acdb',
  template_id: '9ef5d402-7877-5f38-9a75-eb3232b25976',
  name: 'web-1',
  ssh_key_ids: ['01a1fb45-1ab5-76a6-be1c-72070ab457ce'],
  user_data: '#cloud-config\npackages: [nginx]\n',
  labels: { env: 'prod' },
}

const { preset_id: _, ...noPreset } = orderExample
const customExample = { ...noPreset, plan_type: 'custom', cpu: 2, ram_mb: 2048, disk_gb: 20 }

/** The two orders, as the API's description has them: planRules say the same, field by field. */
const orderForms = (title: string, template_id: TSchema) => {
  const { preset_id, cpu, ram_mb, disk_gb, plan_type, ...rest } = order
  return {
    ...planRules,
    title,
    examples: [orderExample],
    discriminator: { propertyName: 'plan_type' },
    forms: [
      Type.Object(
        { plan_type: Type.Enum(['preset']), preset_id: PresetId, ...rest, template_id },
        { title: `${title}Preset`, examples: [orderExample] },
      ),
      Type.Object(
        { plan_type: Type.Enum(['custom']), ...customSize, ...rest, template_id },
        { title: `${title}Custom`, examples: [customExample] },
      ),
    ],
  }
}

export const ServerCreate = Type.Object(
  { ...order, template_id: TemplateId },
  orderForms('ServerCreate', TemplateId),
)
export type ServerCreate = Static<typeof ServerCreate>

/** The body of create; what a price does not depend on may be left out. */
export const QuoteRequest = Type.Object(
  { ...order, template_id: Type.Optional(TemplateId) },
  orderForms('QuoteRequest', Type.Optional(TemplateId)),
)
export type QuoteRequest = Static<typeof QuoteRequest>

export const Quote = Type.Object(
  {
    zone_slug: ZoneSlug,
    cpu_type: CpuTypeName,
    plan_type: PlanType,
    preset_id: nullable(PresetId),
    ...size,
    currency: Type.Enum(['RUB']),
    price_hour_rub: HourPrice,
    price_month_rub: Money,
    items: Type.Array(
      Type.Object({
        code: Type.Enum(['cpu', 'ram', 'disk', 'preset'], { examples: ['preset'] }),
        quantity: Type.Number({ examples: [1] }),
        unit: Type.Enum(['core', 'gb', 'preset'], { examples: ['preset'] }),
        price_unit_month_rub: Money,
        price_month_rub: Money,
      }),
    ),
    is_available: Type.Boolean({ description: 'Whether there is enough capacity for it now' }),
    can_create: Type.Boolean({ description: 'Whether creating it would succeed now' }),
    blockers: Type.Array(Type.Object({ code: Type.String(), detail: Type.String() }), { examples: [[]] }),
    quoted_at: Timestamp,
  },
  { title: 'Quote' },
)
export type Quote = Static<typeof Quote>

const metadata = {
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  labels: Type.Optional(Labels),
  project_id: Type.Optional(ProjectId),
  delete_protection: Type.Optional(Type.Boolean({ description: 'Whether DELETE is refused' })),
}
const updateExample = { name: 'web-2', labels: { env: 'test' } }
const { preset_id: optionalPreset, ...optionalSize } = plan

export const ServerUpdate = Type.Object(
  { ...metadata, plan_type: Type.Optional(PlanType), ...plan },
  {
    title: 'ServerUpdate',
    minProperties: 1,
    examples: [updateExample],
    allOf: [
      when(isPlan('preset'), fields(['preset_id'], SIZE)),
      when(isPlan('custom'), fields([], ['preset_id'])),
      when(fields(['preset_id'], []), fields([], SIZE)),
    ],
    forms: [
      Type.Object(
        { ...metadata, plan_type: Type.Optional(Type.Enum(['custom'])), ...optionalSize },
        { title: 'ServerUpdateCustom', minProperties: 1, examples: [updateExample] },
      ),
      Type.Object(
        { ...metadata, plan_type: Type.Optional(Type.Enum(['preset'])), preset_id: PresetId },
        { title: 'ServerUpdatePreset', examples: [{ preset_id: orderExample.preset_id }] },
      ),
    ],
  },
)
export type ServerUpdate = Static<typeof ServerUpdate>

export const StartRequest = Type.Object({}, { title: 'StartRequest' })
export const StopRequest = Type.Object(
  {
    force: Type.Optional(
      Type.Boolean({ default: false, description: 'Power off at once instead of shutting the guest down' }),
    ),
    timeout_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 600,
        default: 60,
        description: 'How long the guest may take to shut down before it is powered off',
      }),
    ),
  },
  { title: 'StopRequest' },
)
export type StopRequest = Static<typeof StopRequest>

const ssh = {
  host: Type.String({ description: 'Address that leads to it', examples: ['127.0.0.1'] }),
  port: nullable(
    Type.Integer({ description: 'Port of its own; null where it has none', examples: [22_424] }),
  ),
  username: Type.String({ description: 'Who logs in', examples: ['debian'] }),
}
const server = {
  server_id: ServerId,
  name: Type.String({ examples: ['web-1'] }),
  description: nullable(Type.String({ examples: ['The shop'] })),
  project_id: ProjectId,
  zone_slug: ZoneSlug,
  status: Type.Enum([...statuses], { examples: ['running'] }),
  status_reason: nullable(Type.String(), { examples: [null] }),
  plan_type: PlanType,
  cpu_type: CpuTypeName,
  preset_id: nullable(PresetId),
  ...size,
  template_id: TemplateId,
  ssh_key_ids: Type.Array(SshKeyId),
  ipv4: nullable(Type.String({ description: 'Its own public address, if it has one' }), {
    examples: [null],
  }),
  ipv6: nullable(Type.String(), { examples: [null] }),
  labels: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    examples: [{ env: 'prod' }],
  }),
  delete_protection: Type.Boolean(),
  price_month_rub: Money,
  price_hour_rub: HourPrice,
  ssh: Type.Object(ssh, { description: 'Where ssh reaches it' }),
  current_operation: nullable(
    Type.Object({
      operation_id: OperationId,
      type: Type.Enum(operationTypes),
      status: OperationStatus,
      progress: Progress,
    }),
    { examples: [null] },
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
  started_at: nullable(Timestamp),
}
export const Server = Type.Object(server, { title: 'Server' })
export type Server = Static<typeof Server>

const Address = nullable(
  Type.Object({ address: Type.String(), prefix_length: Type.Integer(), gateway: Type.String() }),
  { examples: [null] },
)

export const ServerDetails = Type.Object(
  {
    ...server,
    project: Project,
    zone: nullable(Zone),
    template: nullable(Template),
    preset: nullable(Preset),
    network: Type.Object({
      hostname: Type.String({ examples: ['web-1'] }),
      mac: Type.String({ examples: ['52:54:00:ba:47:7a'] }),
      ipv4: Address,
      ipv6: Address,
    }),
    user_data_sha256: nullable(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description: 'SHA-256 of the user_data that it was created with, in hexadecimal; null without',
        examples: ['5c3a77f4a5f9ed3ca5bd5ac2db1fda6b4e6a0d1d1cb3e0a5e6ac3d4b1e1f0a2b'],
      }),
    ),
    ssh: Type.Object({
      ...ssh,
      command: nullable(
        Type.String({
          description: 'Shell command that logs in',
          examples: ['ssh -p 22424 debian@127.0.0.1'],
        }),
      ),
      auth_methods: Type.Array(Type.Enum(['public_key', 'password'])),
      keys: Type.Array(
        Type.Object({
          ssh_key_id: SshKeyId,
          name: Type.String({ examples: ['laptop'] }),
          fingerprint: Type.String({ examples: ['SHA256:BG2L77QnDhh1ECY49/Cdlc8DfQd+VK7WLhpBisLHfiQ'] }),
        }),
      ),
      host_key_fingerprints: Type.Array(
        Type.Object({
          type: Type.String({ examples: ['ssh-ed25519'] }),
          fingerprint: Type.String({ examples: ['SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA'] }),
          public_key: Type.String({
            examples: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f'],
          }),
        }),
      ),
      is_ready: Type.Boolean(),
      password: nullable(Type.String(), { examples: [null] }),
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
    server_id: ServerId,
    status: Type.Enum([...statuses], { examples: ['running'] }),
    uptime_seconds: nullable(
      Type.Integer({ minimum: 0, description: 'Since started_at; null if it is off', examples: [86_400] }),
    ),
    ...figures,
  },
  { title: 'ServerStats' },
)
export type ServerStats = Static<typeof ServerStats>

export const ServerQuery = Type.Object({
  ...pagingQuery,
  project_id: Type.Optional(ProjectId),
  zone_slug: Type.Optional(ZoneSlug),
  status: Type.Optional(Type.Enum([...statuses])),
  plan_type: Type.Optional(PlanType),
  cpu_type: Type.Optional(CpuTypeName),
  template_id: Type.Optional(TemplateId),
  name: Type.Optional(Type.String({ maxLength: 63, description: 'Exact name' })),
  label: Type.Optional(
    Type.String({
      maxLength: 192,
      pattern: `^${LABEL_TERM}(,${LABEL_TERM}){0,31}$`,
      description:
        'Label selector: up to 32 terms name=value, name!=value, name or !name, separated by commas; all must hold. name!=value includes servers without that label.',
      examples: ['env=prod,tier!=web,!retired'],
      errorMessage: 'must have up to 32 terms name=value, name!=value, name or !name, separated by commas.',
    }),
  ),
  sort: Type.Optional(Type.Enum(['created_at', '-created_at', 'name', '-name'], { default: '-created_at' })),
})
export type ServerQuery = Static<typeof ServerQuery>
