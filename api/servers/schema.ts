import Type, { type Static } from 'typebox'
import { PROJECT, ProjectId, SshKeyId } from '../accounts/schema.ts'
import { CpuTypeName, PresetId, size, TemplateId, ZoneSlug } from '../catalog/schema.ts'
import {
  CreatedAt,
  HourPrice,
  LabelSelector,
  Labels,
  MonthPrice,
  nullable,
  timestamp,
  UpdatedAt,
  uuid,
} from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'
import { NetworkId, PrivateIpv4 } from '../networks/schema.ts'
import { OperationId, OperationStatus, Progress } from '../operations/schema.ts'
import { IsoId } from '../snapshots/iso-schema.ts'
import { driveTypes, operationTypes } from './operations.ts'
import { statuses } from './states.ts'

const ServerId = uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403', 'Id of the server')
const SOURCE = '01a1fb45-1af0-7d25-8c3e-4b5a69788796'
const Status = Type.Enum([...statuses], {
  description:
    'Status of the server; those in -ing are temporary. `suspended`: stopped because the balance is used up, or by the operator; `error`: see `status_reason`, then start, reboot or delete it',
  examples: ['running'],
})
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
  rescue_conflict: {
    status: 409,
    title: 'The server is in rescue, or is not, and this requires the opposite',
  },
  server_attached: {
    status: 409,
    title: 'The server has objects that must be detached first',
    members: {
      attachments: Type.Array(
        Type.Object({
          type: Type.Enum(['volume', 'network', 'firewall', 'address', 'iso'], {
            description: 'Kind of the object; a firewall may have the server by its labels',
          }),
          id: Type.String({ description: 'Id of the object', examples: [SOURCE] }),
          name: Type.String({ description: 'Its name, or the address', examples: ['data'] }),
        }),
        { description: 'All of them' },
      ),
    },
  },
  delete_protected: { status: 409, title: 'The server is protected from deletion' },
})
export const PLAN_TYPE = 'Whether the size is a preset or chosen freely'
export const PlanType = Type.Enum(['preset', 'custom'], { description: PLAN_TYPE })
export const StartRequest = Type.Object(
  {},
  { title: 'StartRequest', description: 'There are no options; the body can be omitted' },
)
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
        description: 'Seconds that the guest may take to shut down before it is powered off',
      }),
    ),
  },
  { title: 'StopRequest', description: 'Options for stopping a server; the body can be omitted' },
)
export type StopRequest = Static<typeof StopRequest>

const ssh = {
  host: Type.String({ description: 'Address to connect to', examples: ['127.0.0.1'] }),
  port: nullable(Type.Integer({ examples: [22_424] }), {
    description:
      'Port to connect to: 22 at a public address, otherwise a published port; null if it has none',
  }),
  username: Type.String({ description: 'User to log in as', examples: ['debian'] }),
}
const server = {
  server_id: ServerId,
  name: Type.String({ description: 'Name and host name', examples: ['web-1'] }),
  description: nullable(Type.String({ examples: ['The shop'] }), {
    description: 'Text of your choice; null if there is none',
  }),
  project_id: uuid(PROJECT, 'Project that it is in'),
  zone_slug: ZoneSlug,
  status: Status,
  status_reason: nullable(Type.String(), {
    description:
      'Why it has this status, if no request led to it: `guest_shutdown`, `balance_depleted`, `account_suspended`, `server_suspended`, or the error code of an operation; `host_unavailable` if its host does not answer, so that the status is the last known one; otherwise null',
    examples: [null],
  }),
  suspension_reason: nullable(Type.String({ examples: ['Sends spam'] }), {
    description:
      "The operator's reason for suspending this server, which stays suspended until they resume it; otherwise null",
    examples: [null],
  }),
  plan_type: PlanType,
  cpu_type: CpuTypeName,
  preset_id: nullable(PresetId, { description: 'Its preset; null for a custom plan' }),
  ...size,
  template_id: nullable(TemplateId, {
    description: 'Its template; null if it was created from an image without one',
  }),
  source_id: nullable(uuid(SOURCE, 'Id of a copy'), {
    description:
      'Id of the snapshot, backup or image that its disk was made from at last, which may be deleted by now; null: its template',
    examples: [null],
  }),
  ssh_key_ids: Type.Array(SshKeyId, {
    description: 'SSH keys that its system was created with, including those deleted since',
  }),
  ipv4: nullable(Type.String(), {
    description:
      'Its public IPv4 address; null if it has none: then connect to the address and port in `ssh`',
    examples: [null],
  }),
  ipv6: nullable(Type.String(), {
    description: 'Its public IPv6 address; the whole /64 of it leads to the server. Null if it has none',
    examples: [null],
  }),
  networks: Type.Array(Type.Object({ network_id: NetworkId, ipv4: PrivateIpv4 }), {
    description: 'The private networks that it is in, with its address in each',
    examples: [[]],
  }),
  labels: Labels,
  delete_protection: Type.Boolean({
    description: 'Whether `DELETE` and a rebuild are refused',
    examples: [false],
  }),
  iso_id: nullable(IsoId, {
    description: 'The ISO in its drive, from which it boots before its disk; null: none',
    examples: [null],
  }),
  rescue: Type.Boolean({
    description: 'Whether it boots the rescue system in place of its own disk, until `unrescue`',
    examples: [false],
  }),
  backups_enabled: Type.Boolean({
    description: 'Whether it is backed up every day, which is billed beside its price',
    examples: [true],
  }),
  backup_window: nullable(Type.Integer({ examples: [3] }), {
    description: 'Hour of the day (UTC) in which its backup begins; null if it has none',
  }),
  price_month_rub: MonthPrice,
  price_hour_rub: HourPrice,
  ssh: Type.Object(ssh, { description: 'Address, port and user for SSH' }),
  current_operation: nullable(
    Type.Object({
      operation_id: OperationId,
      type: Type.Enum([...operationTypes, ...driveTypes], { description: 'Type of the operation' }),
      status: OperationStatus,
      progress: Progress,
    }),
    { description: 'The operation in progress; null if there is none', examples: [null] },
  ),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
  started_at: nullable(timestamp('When it was last started', '2026-11-20T12:00:09.000Z'), {
    description: 'When it was last started; null while it is off',
  }),
  delete_at: nullable(timestamp('When it will be deleted', '2026-12-20T12:00:00.000Z'), {
    description:
      'When it will be deleted, with its data and in spite of `delete_protection`, if it is still suspended then, because the balance is used up or the account is closed; null if it will not be',
    examples: [null],
  }),
}
export const Server = Type.Object(server, {
  title: 'Server',
  description: 'A virtual machine; its details have more, such as host keys and costs',
})
export type Server = Static<typeof Server>

export const ServerQuery = Type.Object({
  ...pagingQuery,
  project_id: Type.Optional(ProjectId),
  zone_slug: Type.Optional(ZoneSlug),
  status: Type.Optional(Type.Enum([...statuses], { description: 'Only those with this status' })),
  plan_type: Type.Optional(PlanType),
  cpu_type: Type.Optional(CpuTypeName),
  template_id: Type.Optional(TemplateId),
  name: Type.Optional(Type.String({ maxLength: 63, description: 'Only those with exactly this name' })),
  label: Type.Optional(LabelSelector),
  sort: Type.Optional(
    Type.Enum(['created_at', '-created_at', 'name', '-name'], {
      default: '-created_at',
      description: 'Order of the list; with a dash descending',
    }),
  ),
})
export type ServerQuery = Static<typeof ServerQuery>
