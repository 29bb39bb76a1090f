// Written by npm run generate from openapi.json: change the schemas of api/, not this file.

export interface Account {
  account_id: string
  email: string
  name: string
  status: 'active' | 'suspended' | 'closed'
  created_at: string
  default_project_id: string
  token: {
    token_id: string
    name: string
    scopes: Array<string>
    expires_at: string | null
  }
  quotas: {
    projects: {
      limit: number
      used: number
    }
    ssh_keys: {
      limit: number
      used: number
    }
    tokens: {
      limit: number
      used: number
    }
    webhooks: {
      limit: number
      used: number
    }
    servers: {
      limit: number
      used: number
    }
    cpu: {
      limit: number
      used: number
    }
    ram_mb: {
      limit: number
      used: number
    }
    disk_gb: {
      limit: number
      used: number
    }
  }
}

export interface AuditEntry {
  audit_id: string
  /** The operationId of the route, or an operator command */
  action: string
  /** What was changed */
  object_type: string
  object_id: string | null
  token_id: string | null
  address: string | null
  request_id: string
  created_at: string
}

export interface AuditEntryList {
  items: Array<AuditEntry>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Balance {
  /** Rubles with two decimals */
  balance: string
  currency: 'RUB'
  /** Rubles per hour with four decimals */
  cost_hour_rub: string
  /** Rubles with two decimals */
  cost_month_rub: string
  hours_left: number | null
  generated_at: string
}

export interface Capacity {
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  is_available: boolean
  level: 'high' | 'low' | 'none'
  max_server: {
    cpu: number
    ram_mb: number
    disk_gb: number
  }
  updated_at: string
}

export interface CapacityUnavailableProblem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'capacity_unavailable'
  /** The largest server that fits there now */
  max_server: {
    cpu: number
    ram_mb: number
    disk_gb: number
  }
  /** Where the plan fits now */
  alternatives: Array<{
    zone_slug: string
    cpu_type: 'amd' | 'intel'
  }>
}

export interface Delivery {
  delivery_id: string
  webhook_id: string
  event_id: string
  /** What happened */
  event_type: 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'operation.succeeded' | 'operation.failed' | 'account.updated' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test'
  /** pending: queued, or waiting for the next attempt */
  status: 'pending' | 'succeeded' | 'failed'
  /** Of many, the first and the last ten; only those to the current address */
  attempts: Array<DeliveryAttempt>
  created_at: string
}

export interface DeliveryAttempt {
  attempted_at: string
  duration_ms: number
  reply_status: number | null
  /** The first 4 KiB of the reply */
  reply: string
  error: string | null
}

export interface DeliveryList {
  items: Array<Delivery>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Event {
  event_id: string
  /** What happened */
  type: 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'operation.succeeded' | 'operation.failed' | 'account.updated' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test'
  created_at: string
  /** The object as the API showed it at that moment; for server.status_changed also old_status and new_status */
  data: {
    [member: string]: unknown
  }
}

export interface EventList {
  items: Array<Event>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface InsufficientBalanceProblem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'insufficient_balance'
  /** Rubles that are needed */
  required: string
  /** Rubles of the balance */
  available: string
}

export interface InsufficientScopeProblem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'insufficient_scope'
  /** The scope that is needed */
  required_scope: string
  /** Scopes of which one is enough */
  accepted_scopes: Array<string>
}

export interface Issue {
  /** The part of the request */
  in: 'body' | 'query' | 'path' | 'header'
  /** Name of the field; dots separate nested names */
  field: string
  /** JSON Pointer (RFC 6901) into the body; for query parameters /name */
  pointer: string
  /** Stable code for programs */
  code: 'required' | 'unknown_field' | 'wrong_type' | 'too_long' | 'too_short' | 'below_minimum' | 'above_maximum' | 'not_a_step' | 'not_in_enum' | 'invalid_format' | 'not_found' | 'mutually_exclusive' | 'disk_too_small' | 'invalid_public_key'
  /** What is wrong, for humans */
  message: string
}

export interface Limits {
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  cpu: {
    min: number
    max: number
    step: number
  }
  ram_mb: {
    min: number
    max: number
    step: number
  }
  disk_gb: {
    min: number
    max: number
    step: number
  }
  unit_prices: {
    /** Rubles with two decimals */
    cpu_month_rub: string
    /** Rubles with two decimals */
    ram_gb_month_rub: string
    /** Rubles with two decimals */
    disk_gb_month_rub: string
  }
}

export interface NewToken {
  token_id: string
  name: string
  scopes: Array<'account:read' | 'read' | 'account:write' | 'write' | 'servers:read' | 'servers:write'>
  /** The token that it was created with, and is revoked with; null if the operator created it */
  parent_token_id: string | null
  expires_at: string | null
  last_used_at: string | null
  created_at: string
  /** The value, shown only once */
  token: string
}

export interface NewWebhook {
  webhook_id: string
  name: string
  /** Address that events are posted to */
  url: string
  /** Events to send; "*" is all */
  event_types: Array<'*' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'operation.succeeded' | 'operation.failed' | 'account.updated' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test'>
  /** Whether events are sent */
  is_enabled: boolean
  disabled_reason: 'failing' | 'gone' | null
  created_at: string
  /** Signing secret for Standard Webhooks libraries, shown only once */
  secret: string
}

export interface Operation {
  operation_id: string
  /** Type of the resource that the operation is on */
  subject_type: 'server'
  subject_id: string
  server_id: string | null
  type: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'delete'
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
  progress: number
  step: string
  error: {
    code: string
    message: string
  } | null
  created_at: string
  started_at: string | null
  finished_at: string | null
}

export interface OperationInProgressProblem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'operation_in_progress'
  /** The operation to wait for */
  operation_id: string | null
}

export interface OperationList {
  items: Array<Operation>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface PlainProblem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'account_suspended' | 'backend_unavailable' | 'bad_request' | 'delete_protected' | 'idempotency_key_in_use' | 'idempotency_key_reused' | 'internal_error' | 'invalid_json' | 'invalid_token' | 'method_not_allowed' | 'missing_token' | 'operation_not_found' | 'payload_too_large' | 'precondition_failed' | 'project_is_default' | 'project_not_empty' | 'project_not_found' | 'rate_limited' | 'route_not_found' | 'server_not_found' | 'ssh_key_not_found' | 'token_expired' | 'token_not_found' | 'token_revoked' | 'unsupported_media_type' | 'webhook_not_found'
}

export interface Preset {
  preset_id: string
  slug: string
  cpu: number
  ram_mb: number
  disk_gb: number
  /** Rubles with two decimals */
  price_month_rub: string
  /** Rubles per hour with four decimals */
  price_hour_rub: string
  /** Whether it can be ordered now */
  is_available: boolean
}

export interface Problem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'account_suspended' | 'backend_unavailable' | 'bad_request' | 'delete_protected' | 'idempotency_key_in_use' | 'idempotency_key_reused' | 'internal_error' | 'invalid_json' | 'invalid_token' | 'method_not_allowed' | 'missing_token' | 'operation_not_found' | 'payload_too_large' | 'precondition_failed' | 'project_is_default' | 'project_not_empty' | 'project_not_found' | 'rate_limited' | 'route_not_found' | 'server_not_found' | 'ssh_key_not_found' | 'token_expired' | 'token_not_found' | 'token_revoked' | 'unsupported_media_type' | 'webhook_not_found' | 'insufficient_scope' | 'validation_failed' | 'quota_exceeded' | 'ssh_key_exists' | 'insufficient_balance' | 'capacity_unavailable' | 'server_state_conflict' | 'operation_in_progress'
  /** The scope that is needed */
  required_scope?: string | undefined
  /** Scopes of which one is enough */
  accepted_scopes?: Array<string> | undefined
  /** Every mistake, at most the first 100 */
  errors?: Array<Issue> | undefined
  /** The quota that does not allow it */
  quota?: {
    /** Name of the quota */
    name: string
    /** How much the account may have */
    limit: number
    /** How much it has */
    used: number
    /** How much more the request needs */
    requested: number
  } | undefined
  /** The key that exists */
  ssh_key_id?: string | undefined
  /** Rubles that are needed */
  required?: string | undefined
  /** Rubles of the balance */
  available?: string | undefined
  /** The largest server that fits there now */
  max_server?: {
    cpu: number
    ram_mb: number
    disk_gb: number
  } | undefined
  /** Where the plan fits now */
  alternatives?: Array<{
    zone_slug: string
    cpu_type: 'amd' | 'intel'
  }> | undefined
  /** Its status */
  current_status?: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'suspended' | 'error' | 'deleting' | undefined
  /** Statuses that allow it */
  allowed_statuses?: Array<'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'suspended' | 'error' | 'deleting'> | undefined
  /** The operation to wait for */
  operation_id?: string | null | undefined
}

export interface Project {
  project_id: string
  name: string
  description: string | null
  /** Servers are created in it if no project is given */
  is_default: boolean
  server_count: number
  created_at: string
  updated_at: string
}

export interface ProjectCreate {
  name: string
  description?: string | null | undefined
}

export interface ProjectList {
  items: Array<Project>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface ProjectUpdate {
  name?: string | undefined
  description?: string | null | undefined
}

export interface QuotaExceededProblem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'quota_exceeded'
  /** The quota that does not allow it */
  quota: {
    /** Name of the quota */
    name: string
    /** How much the account may have */
    limit: number
    /** How much it has */
    used: number
    /** How much more the request needs */
    requested: number
  }
}

export interface Quote {
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  plan_type: 'preset' | 'custom'
  preset_id: string | null
  cpu: number
  ram_mb: number
  disk_gb: number
  currency: 'RUB'
  /** Rubles per hour with four decimals */
  price_hour_rub: string
  /** Rubles with two decimals */
  price_month_rub: string
  items: Array<{
    code: 'cpu' | 'ram' | 'disk' | 'preset'
    quantity: number
    unit: 'core' | 'gb' | 'preset'
    /** Rubles with two decimals */
    price_unit_month_rub: string
    /** Rubles with two decimals */
    price_month_rub: string
  }>
  /** Whether there is enough capacity for it now */
  is_available: boolean
  /** Whether creating it would succeed now */
  can_create: boolean
  blockers: Array<{
    code: string
    detail: string
  }>
  quoted_at: string
}

export interface QuoteRequest {
  plan_type: 'preset' | 'custom'
  preset_id?: string | undefined
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  name?: string | undefined
  project_id?: string | undefined
  description?: string | null | undefined
  ssh_key_ids?: Array<string> | undefined
  user_data?: string | null | undefined
  labels?: Record<string, string> | undefined
  /** Default: true. */
  start_on_create?: boolean | undefined
  /** Default: false. */
  delete_protection?: boolean | undefined
  template_id?: string | undefined
  /** Cores of a custom plan */
  cpu?: number | undefined
  /** Memory in MB of a custom plan */
  ram_mb?: number | undefined
  /** Disk in GB of a custom plan */
  disk_gb?: number | undefined
}

export interface QuoteRequestCustom {
  plan_type: 'custom'
  /** Cores of a custom plan */
  cpu: number
  /** Memory in MB of a custom plan */
  ram_mb: number
  /** Disk in GB of a custom plan */
  disk_gb: number
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  name?: string | undefined
  project_id?: string | undefined
  description?: string | null | undefined
  ssh_key_ids?: Array<string> | undefined
  user_data?: string | null | undefined
  labels?: Record<string, string> | undefined
  /** Default: true. */
  start_on_create?: boolean | undefined
  /** Default: false. */
  delete_protection?: boolean | undefined
  template_id?: string | undefined
}

export interface QuoteRequestPreset {
  plan_type: 'preset'
  preset_id: string
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  name?: string | undefined
  project_id?: string | undefined
  description?: string | null | undefined
  ssh_key_ids?: Array<string> | undefined
  user_data?: string | null | undefined
  labels?: Record<string, string> | undefined
  /** Default: true. */
  start_on_create?: boolean | undefined
  /** Default: false. */
  delete_protection?: boolean | undefined
  template_id?: string | undefined
}

export interface Server {
  server_id: string
  name: string
  description: string | null
  project_id: string
  zone_slug: string
  status: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'suspended' | 'error' | 'deleting'
  status_reason: string | null
  plan_type: 'preset' | 'custom'
  cpu_type: 'amd' | 'intel'
  preset_id: string | null
  cpu: number
  ram_mb: number
  disk_gb: number
  template_id: string
  ssh_key_ids: Array<string>
  ipv4: string | null
  ipv6: string | null
  labels: Record<string, string>
  delete_protection: boolean
  /** Rubles with two decimals */
  price_month_rub: string
  /** Rubles per hour with four decimals */
  price_hour_rub: string
  /** Where ssh reaches it */
  ssh: {
    /** Address that leads to it */
    host: string
    port: number | null
    /** Who logs in */
    username: string
  }
  current_operation: {
    operation_id: string
    type: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'delete'
    status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
    progress: number
  } | null
  created_at: string
  updated_at: string
  started_at: string | null
}

export interface ServerCreate {
  plan_type: 'preset' | 'custom'
  preset_id?: string | undefined
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  name?: string | undefined
  project_id?: string | undefined
  description?: string | null | undefined
  ssh_key_ids?: Array<string> | undefined
  user_data?: string | null | undefined
  labels?: Record<string, string> | undefined
  /** Default: true. */
  start_on_create?: boolean | undefined
  /** Default: false. */
  delete_protection?: boolean | undefined
  template_id: string
  /** Cores of a custom plan */
  cpu?: number | undefined
  /** Memory in MB of a custom plan */
  ram_mb?: number | undefined
  /** Disk in GB of a custom plan */
  disk_gb?: number | undefined
}

export interface ServerCreateCustom {
  plan_type: 'custom'
  /** Cores of a custom plan */
  cpu: number
  /** Memory in MB of a custom plan */
  ram_mb: number
  /** Disk in GB of a custom plan */
  disk_gb: number
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  name?: string | undefined
  project_id?: string | undefined
  description?: string | null | undefined
  ssh_key_ids?: Array<string> | undefined
  user_data?: string | null | undefined
  labels?: Record<string, string> | undefined
  /** Default: true. */
  start_on_create?: boolean | undefined
  /** Default: false. */
  delete_protection?: boolean | undefined
  template_id: string
}

export interface ServerCreatePreset {
  plan_type: 'preset'
  preset_id: string
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  name?: string | undefined
  project_id?: string | undefined
  description?: string | null | undefined
  ssh_key_ids?: Array<string> | undefined
  user_data?: string | null | undefined
  labels?: Record<string, string> | undefined
  /** Default: true. */
  start_on_create?: boolean | undefined
  /** Default: false. */
  delete_protection?: boolean | undefined
  template_id: string
}

export interface ServerDetails {
  server_id: string
  name: string
  description: string | null
  project_id: string
  zone_slug: string
  status: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'suspended' | 'error' | 'deleting'
  status_reason: string | null
  plan_type: 'preset' | 'custom'
  cpu_type: 'amd' | 'intel'
  preset_id: string | null
  cpu: number
  ram_mb: number
  disk_gb: number
  template_id: string
  ssh_key_ids: Array<string>
  ipv4: string | null
  ipv6: string | null
  labels: Record<string, string>
  delete_protection: boolean
  /** Rubles with two decimals */
  price_month_rub: string
  /** Rubles per hour with four decimals */
  price_hour_rub: string
  ssh: {
    /** Address that leads to it */
    host: string
    port: number | null
    /** Who logs in */
    username: string
    command: string | null
    auth_methods: Array<'public_key' | 'password'>
    keys: Array<{
      ssh_key_id: string
      name: string
      fingerprint: string
    }>
    host_key_fingerprints: Array<{
      type: string
      fingerprint: string
      public_key: string
    }>
    is_ready: boolean
    password: string | null
  }
  current_operation: {
    operation_id: string
    type: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'delete'
    status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
    progress: number
  } | null
  created_at: string
  updated_at: string
  started_at: string | null
  project: Project
  zone: Zone | null
  template: Template | null
  preset: Preset | null
  network: {
    hostname: string
    mac: string
    ipv4: {
      address: string
      prefix_length: number
      gateway: string
    } | null
    ipv6: {
      address: string
      prefix_length: number
      gateway: string
    } | null
  }
  user_data_sha256: string | null
  billing: {
    /** Rubles per hour with four decimals */
    price_hour_rub: string
    /** Rubles with two decimals */
    price_month_rub: string
    billed_since: string | null
    /** Rubles with two decimals */
    month_to_date_rub: string
    is_billed_when_stopped: boolean
  }
  allowed_actions: Array<'start' | 'stop' | 'reboot' | 'update' | 'resize' | 'delete'>
}

export interface ServerList {
  items: Array<Server>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface ServerMetrics {
  server_id: string
  start: string
  end: string
  /** Seconds between points */
  step: number
  series: Array<{
    name: 'cpu.usage' | 'memory.used' | 'disk.used' | 'disk.read.bandwidth' | 'disk.write.bandwidth' | 'network.rx.bandwidth' | 'network.tx.bandwidth'
    type: 'cpu' | 'memory' | 'disk' | 'network'
    unit: 'percent' | 'bytes' | 'bytes_per_second'
    points: Array<[number, number | null]>
  }>
}

export interface ServerStateConflictProblem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'server_state_conflict'
  /** Its status */
  current_status: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'suspended' | 'error' | 'deleting'
  /** Statuses that allow it */
  allowed_statuses: Array<'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'suspended' | 'error' | 'deleting'>
}

export interface ServerStats {
  server_id: string
  status: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'suspended' | 'error' | 'deleting'
  uptime_seconds: number | null
  collected_at: string
  cpu: {
    cores: number
    usage_percent: number | null
  }
  memory: {
    total_mb: number
    used_mb: number | null
  }
  disk: {
    total_gb: number
    used_gb: number | null
    read_bytes_total: number | null
    write_bytes_total: number | null
    read_bytes_per_second: number | null
    write_bytes_per_second: number | null
  }
  network: {
    rx_bytes_total: number | null
    tx_bytes_total: number | null
    rx_bytes_per_second: number | null
    tx_bytes_per_second: number | null
  }
}

export interface ServerUpdate {
  name?: string | undefined
  description?: string | null | undefined
  labels?: Record<string, string> | undefined
  project_id?: string | undefined
  /** Whether DELETE is refused */
  delete_protection?: boolean | undefined
  plan_type?: 'custom' | 'preset' | undefined
  /** Cores of a custom plan */
  cpu?: number | undefined
  /** Memory in MB of a custom plan */
  ram_mb?: number | undefined
  /** Disk in GB of a custom plan */
  disk_gb?: number | undefined
  preset_id?: string | undefined
}

export interface ServerUpdateCustom {
  name?: string | undefined
  description?: string | null | undefined
  labels?: Record<string, string> | undefined
  project_id?: string | undefined
  /** Whether DELETE is refused */
  delete_protection?: boolean | undefined
  plan_type?: 'custom' | undefined
  /** Cores of a custom plan */
  cpu?: number | undefined
  /** Memory in MB of a custom plan */
  ram_mb?: number | undefined
  /** Disk in GB of a custom plan */
  disk_gb?: number | undefined
}

export interface ServerUpdatePreset {
  name?: string | undefined
  description?: string | null | undefined
  labels?: Record<string, string> | undefined
  project_id?: string | undefined
  /** Whether DELETE is refused */
  delete_protection?: boolean | undefined
  plan_type?: 'preset' | undefined
  preset_id: string
}

export interface SshKey {
  ssh_key_id: string
  name: string
  public_key: string
  /** As OpenSSH prints it: SHA256:… */
  fingerprint: string
  key_type: string
  created_at: string
}

export interface SshKeyCreate {
  name: string
  /** One line of a .pub file */
  public_key: string
}

export interface SshKeyExistsProblem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'ssh_key_exists'
  /** The key that exists */
  ssh_key_id: string
}

export interface SshKeyList {
  items: Array<SshKey>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface SshKeyUpdate {
  name?: string | undefined
}

export interface StartRequest {
  
}

export interface StopRequest {
  /** Power off at once instead of shutting the guest down Default: false. */
  force?: boolean | undefined
  /** How long the guest may take to shut down before it is powered off Default: 60. */
  timeout_seconds?: number | undefined
}

export interface Template {
  template_id: string
  slug: string
  title: string
  os_family: string
  min_disk_gb: number
  /** Username for SSH */
  default_username: string
}

export interface Token {
  token_id: string
  name: string
  scopes: Array<'account:read' | 'read' | 'account:write' | 'write' | 'servers:read' | 'servers:write'>
  /** The token that it was created with, and is revoked with; null if the operator created it */
  parent_token_id: string | null
  expires_at: string | null
  last_used_at: string | null
  created_at: string
}

export interface TokenCreate {
  name: string
  scopes: Array<'account:read' | 'read' | 'account:write' | 'write' | 'servers:read' | 'servers:write'>
  /** Not after that of the token that creates it, which is the default */
  expires_at?: string | null | undefined
}

export interface TokenList {
  items: Array<Token>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Transaction {
  transaction_id: string
  type: 'charge' | 'payment' | 'refund' | 'correction'
  /** Rubles with two decimals */
  amount: string
  /** Rubles with two decimals */
  balance_after: string
  server_id: string | null
  description: string
  created_at: string
}

export interface TransactionList {
  items: Array<Transaction>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Usage {
  /** A calendar month in UTC, such as 2026-11 */
  month: string
  currency: 'RUB'
  /** Sum of the charges for the hours of this month */
  amount: string
  items: Array<UsageItem>
  generated_at: string
}

export interface UsageItem {
  server_id: string
  server_name: string
  project_id: string
  /** Hours that were billed, to four decimals */
  hours: number
  /** Rubles with two decimals */
  amount: string
}

export interface ValidationFailedProblem {
  /** urn:berth:problem: and the code */
  type: string
  /** What kind of error it is, for humans */
  title: string
  /** The HTTP status */
  status: number
  /** What happened and what to do, for humans */
  detail: string
  /** Path of the request */
  instance: string
  /** Quote it when you report a problem to the operator */
  request_id: string
  /** What a client acts on */
  code: 'validation_failed'
  /** Every mistake, at most the first 100 */
  errors: Array<Issue>
}

export interface Webhook {
  webhook_id: string
  name: string
  /** Address that events are posted to */
  url: string
  /** Events to send; "*" is all */
  event_types: Array<'*' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'operation.succeeded' | 'operation.failed' | 'account.updated' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test'>
  /** Whether events are sent */
  is_enabled: boolean
  disabled_reason: 'failing' | 'gone' | null
  created_at: string
}

export interface WebhookCreate {
  name: string
  /** Address that events are posted to */
  url: string
  /** Events to send; "*" is all */
  event_types: Array<'*' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'operation.succeeded' | 'operation.failed' | 'account.updated' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test'>
  /** Default: true. */
  is_enabled?: boolean | undefined
}

export interface WebhookList {
  items: Array<Webhook>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface WebhookTest {
  /** The event that is sent */
  event_id: string
}

export interface WebhookUpdate {
  name?: string | undefined
  /** Address that events are posted to */
  url?: string | undefined
  /** Events to send; "*" is all */
  event_types?: Array<'*' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'operation.succeeded' | 'operation.failed' | 'account.updated' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test'> | undefined
  /** Disabling ends pending deliveries as failed; enabling starts with new events */
  is_enabled?: boolean | undefined
}

export interface Zone {
  zone_slug: string
  title: string
  city: string
  /** ISO 3166-1 alpha-2 */
  country_code: string
  cpu_types: Array<'amd' | 'intel'>
  /** Whether any server can be created here now */
  is_available: boolean
}

/** Every route: what its path, query and body take, and what it replies. */
export interface Routes {
  /** Get the account, its quotas and the token in use */
  'GET /account/me': {
    reply: Account
  }
  /** List projects */
  'GET /account/projects': {
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
    } | undefined
    reply: ProjectList
  }
  /** Create a project */
  'POST /account/projects': {
    body: ProjectCreate
    reply: Project
  }
  /** Get a project */
  'GET /account/projects/{project_id}': {
    path: {
      project_id: string
    }
    reply: Project
  }
  /** Update a project */
  'PATCH /account/projects/{project_id}': {
    path: {
      project_id: string
    }
    body?: ProjectUpdate | undefined
    reply: Project
  }
  /** Delete an empty project */
  'DELETE /account/projects/{project_id}': {
    path: {
      project_id: string
    }
    reply: undefined
  }
  /** List SSH keys */
  'GET /account/ssh_keys': {
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
    } | undefined
    reply: SshKeyList
  }
  /** Add an SSH public key */
  'POST /account/ssh_keys': {
    body: SshKeyCreate
    reply: SshKey
  }
  /** Get an SSH key */
  'GET /account/ssh_keys/{ssh_key_id}': {
    path: {
      ssh_key_id: string
    }
    reply: SshKey
  }
  /** Rename an SSH key */
  'PATCH /account/ssh_keys/{ssh_key_id}': {
    path: {
      ssh_key_id: string
    }
    body?: SshKeyUpdate | undefined
    reply: SshKey
  }
  /** Delete an SSH key; existing servers keep it */
  'DELETE /account/ssh_keys/{ssh_key_id}': {
    path: {
      ssh_key_id: string
    }
    reply: undefined
  }
  /** List API tokens */
  'GET /account/tokens': {
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
    } | undefined
    reply: TokenList
  }
  /** Create an API token; its value is shown only once */
  'POST /account/tokens': {
    body: TokenCreate
    reply: NewToken
  }
  /** Get an API token, without its value */
  'GET /account/tokens/{token_id}': {
    path: {
      token_id: string
    }
    reply: Token
  }
  /** Revoke an API token at once, with those created with it */
  'DELETE /account/tokens/{token_id}': {
    path: {
      token_id: string
    }
    query?: {
      /** Whether tokens created with it stay valid; they become those of its own parent */
      keep_children?: boolean | undefined
    } | undefined
    reply: undefined
  }
  /** Get the balance and how long it will last */
  'GET /account/balance': {
    reply: Balance
  }
  /** List transactions */
  'GET /account/transactions': {
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
    } | undefined
    reply: TransactionList
  }
  /** Get the costs of a month by server and project */
  'GET /account/usage': {
    query?: {
      /** A calendar month in UTC, such as 2026-11 */
      month?: string | undefined
    } | undefined
    reply: Usage
  }
  /** Get the costs of a month as CSV */
  'GET /account/usage.csv': {
    query?: {
      /** A calendar month in UTC, such as 2026-11 */
      month?: string | undefined
    } | undefined
    reply: string
  }
  /** List zones */
  'GET /zones': {
    reply: Array<Zone>
  }
  /** List OS templates */
  'GET /templates': {
    reply: Array<Template>
  }
  /** List presets with their prices in a zone */
  'GET /pricing/presets': {
    query: {
      /** Zone */
      zone_slug: string
      cpu_type: 'amd' | 'intel'
    }
    reply: Array<Preset>
  }
  /** Get the limits and prices of custom plans in a zone */
  'GET /pricing/limits': {
    query: {
      /** Zone */
      zone_slug: string
      cpu_type: 'amd' | 'intel'
    }
    reply: Limits
  }
  /** List the available capacity by zone and CPU type */
  'GET /pricing/capacity': {
    query?: {
      zone_slug?: string | undefined
      cpu_type?: 'amd' | 'intel' | undefined
    } | undefined
    reply: Array<Capacity>
  }
  /** List events, oldest first */
  'GET /events': {
    query?: {
      /** The last event that you have seen; the events after it are returned. 00000000-0000-0000-0000-000000000000 is the start. */
      after?: string | undefined
      /** Items per page */
      limit?: number | undefined
    } | undefined
    reply: EventList
  }
  /** Follow events as they happen (server-sent events) */
  'GET /events/stream': {
    query?: {
      /** The last event that you have seen; the events after it are returned. 00000000-0000-0000-0000-000000000000 is the start. */
      after?: string | undefined
    } | undefined
    reply: string
  }
  /** List the audit log: who changed what, and from where */
  'GET /account/audit': {
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
    } | undefined
    reply: AuditEntryList
  }
  /** List webhooks */
  'GET /webhooks': {
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
    } | undefined
    reply: WebhookList
  }
  /** Create a webhook; its secret is shown only once */
  'POST /webhooks': {
    body: WebhookCreate
    reply: NewWebhook
  }
  /** Get a webhook */
  'GET /webhooks/{webhook_id}': {
    path: {
      webhook_id: string
    }
    reply: Webhook
  }
  /** Update a webhook, or enable it again */
  'PATCH /webhooks/{webhook_id}': {
    path: {
      webhook_id: string
    }
    body?: WebhookUpdate | undefined
    reply: Webhook
  }
  /** Delete a webhook and its deliveries */
  'DELETE /webhooks/{webhook_id}': {
    path: {
      webhook_id: string
    }
    reply: undefined
  }
  /** Rotate the secret of a webhook; the new one is shown only once */
  'POST /webhooks/{webhook_id}/rotate-secret': {
    path: {
      webhook_id: string
    }
    reply: NewWebhook
  }
  /** Send the event webhook.test, once, ahead of pending deliveries */
  'POST /webhooks/{webhook_id}/test': {
    path: {
      webhook_id: string
    }
    reply: WebhookTest
  }
  /** List the deliveries of a webhook with their attempts and replies */
  'GET /webhooks/{webhook_id}/deliveries': {
    path: {
      webhook_id: string
    }
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
    } | undefined
    reply: DeliveryList
  }
  /** Quote the price of a server and check whether it can be created */
  'POST /pricing/quote': {
    body: QuoteRequest
    reply: Quote
  }
  /** List servers */
  'GET /servers': {
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
      project_id?: string | undefined
      zone_slug?: string | undefined
      status?: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'suspended' | 'error' | 'deleting' | undefined
      plan_type?: 'preset' | 'custom' | undefined
      cpu_type?: 'amd' | 'intel' | undefined
      template_id?: string | undefined
      /** Exact name */
      name?: string | undefined
      /** Label selector: up to 32 terms name=value, name!=value, name or !name, separated by commas; all must hold. name!=value includes servers without that label. */
      label?: string | undefined
      sort?: 'created_at' | '-created_at' | 'name' | '-name' | undefined
    } | undefined
    reply: ServerList
  }
  /** Create a server */
  'POST /servers': {
    body: ServerCreate
    reply: Server
  }
  /** Get a server */
  'GET /servers/{server_id}': {
    path: {
      server_id: string
    }
    reply: Server
  }
  /** Update a server, or resize it while it is stopped */
  'PATCH /servers/{server_id}': {
    path: {
      server_id: string
    }
    body?: ServerUpdate | undefined
    reply: Server
  }
  /** Delete a server and its disk */
  'DELETE /servers/{server_id}': {
    path: {
      server_id: string
    }
    reply: Operation
  }
  /** Get the details of a server, including SSH access */
  'GET /servers/{server_id}/details': {
    path: {
      server_id: string
    }
    reply: ServerDetails
  }
  /** Get the current resource usage of a server */
  'GET /servers/{server_id}/stats': {
    path: {
      server_id: string
    }
    reply: ServerStats
  }
  /** Get the resource usage of a server over time */
  'GET /servers/{server_id}/metrics': {
    path: {
      server_id: string
    }
    query?: {
      /** Default: one hour before the end */
      start?: string | undefined
      /** Default: now */
      end?: string | undefined
      /** Seconds between points; by default such that there are at most 200 points */
      step?: number | undefined
      /** One or more of cpu, memory, disk, network, separated by commas; default: all */
      type?: string | undefined
    } | undefined
    reply: ServerMetrics
  }
  /** Start a server */
  'POST /servers/{server_id}/start': {
    path: {
      server_id: string
    }
    body?: StartRequest | undefined
    reply: Operation
  }
  /** Stop a server */
  'POST /servers/{server_id}/stop': {
    path: {
      server_id: string
    }
    body?: StopRequest | undefined
    reply: Operation
  }
  /** Reboot a server */
  'POST /servers/{server_id}/reboot': {
    path: {
      server_id: string
    }
    body?: StopRequest | undefined
    reply: Operation
  }
  /** List the operations of a server, even a deleted one */
  'GET /servers/{server_id}/operations': {
    path: {
      server_id: string
    }
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
    } | undefined
    reply: OperationList
  }
  /** Get an operation, or wait until it has finished */
  'GET /servers/{server_id}/operations/{operation_id}': {
    path: {
      server_id: string
      operation_id: string
    }
    query?: {
      /** How many seconds to wait for the operation to finish */
      wait?: number | undefined
    } | undefined
    reply: Operation
  }
  /** List the operations of the account */
  'GET /operations': {
    query?: {
      /** Items per page */
      limit?: number | undefined
      /** Items to skip */
      offset?: number | undefined
      status?: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled' | undefined
      type?: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'delete' | undefined
      /** Type of the resource that the operation is on */
      subject_type?: 'server' | undefined
      subject_id?: string | undefined
    } | undefined
    reply: OperationList
  }
  /** Get an operation of the account, or wait until it has finished */
  'GET /operations/{operation_id}': {
    path: {
      operation_id: string
    }
    query?: {
      /** How many seconds to wait for the operation to finish */
      wait?: number | undefined
    } | undefined
    reply: Operation
  }
}

/** What a BerthError's code can be; a newer service may have more. */
export type ErrorCode =
  | 'account_suspended'
  | 'backend_unavailable'
  | 'bad_request'
  | 'capacity_unavailable'
  | 'delete_protected'
  | 'idempotency_key_in_use'
  | 'idempotency_key_reused'
  | 'insufficient_balance'
  | 'insufficient_scope'
  | 'internal_error'
  | 'invalid_json'
  | 'invalid_token'
  | 'missing_token'
  | 'operation_in_progress'
  | 'operation_not_found'
  | 'payload_too_large'
  | 'precondition_failed'
  | 'project_is_default'
  | 'project_not_empty'
  | 'project_not_found'
  | 'quota_exceeded'
  | 'rate_limited'
  | 'server_not_found'
  | 'server_state_conflict'
  | 'ssh_key_exists'
  | 'ssh_key_not_found'
  | 'token_expired'
  | 'token_not_found'
  | 'token_revoked'
  | 'unsupported_media_type'
  | 'validation_failed'
  | 'webhook_not_found'
