import { statfs } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { accountProblems } from './accounts/schema.ts'
import { chargeLagSeconds } from './billing/metering.ts'
import { countStandings } from './billing/standing.ts'
import type { Capacity } from './catalog/capacity.ts'
import type { Size } from './catalog/usage.ts'
import type { Clock } from './clock.ts'
import { type Database, ping } from './database/database.ts'
import { httpProblems } from './http/contract/problem.ts'
import type { SecurityEvent } from './http/server/security-log.ts'
import type { OperationEnd } from './operations/engine.ts'
import { activeOperations, queueDepth } from './operations/operations.ts'
import manifest from './package.json' with { type: 'json' }
import { countHeld } from './payments/payments.ts'
import type { Servers } from './servers/servers.ts'
import { countBoots } from './snapshots/boot-checks.ts'
import type { Offsite } from './snapshots/offsite.ts'
import { countOffsite } from './snapshots/offsite-rows.ts'
import { countCopies } from './snapshots/verification.ts'
import { deliveryBacklog } from './webhooks/deliveries.ts'
import { countVerifications } from './webhooks/queries.ts'
import type { WebhookWorker } from './webhooks/worker.ts'

/** The parts of the service that gauges are read from at each scrape. */
export interface TelemetrySources {
  db: Database
  clock: Clock
  capacity: Capacity
  servers: Servers
  /** Each template's image: its bytes, null until it is ready, and whether the last attempt to prepare it failed. */
  images: () => Promise<{ template: string; bytes: number | null; isFailed: boolean }[]>
  /** True if this process reports the gauges that are the same in all processes. */
  tellsTotals?: () => boolean
  /** The data folder; the free space of its file system is reported. */
  dataDir: string
  webhooks: Pick<WebhookWorker, 'waiting'>
  offsite: Pick<Offsite, 'place'>
  /** The time of the last backup; null: unknown, and -Infinity: there has never been one. */
  backedUpAt: () => Promise<number | null>
  /** True if the catalogue file is invalid, so that an earlier one is in force. */
  isCatalogInvalid: () => boolean
  /** Each check of the doctor, and whether it found a fault when it was last made. */
  faults: () => ReadonlyMap<string, boolean>
  /** True if writes fail because a disk is full. */
  isDiskFull: () => boolean
}

/** Reads a gauge, and sets its values. */
type Read = (set: (value: number, labels?: Record<string, string>) => void) => Promise<void>

const OPEN_METRICS = 'application/openmetrics-text'
/** Gauges of prom-client with names of counters. Each is also reported under a proper name, by type. */
const MISNAMED = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
]
const { missing_token, invalid_token, token_expired, token_revoked, address_not_allowed } = httpProblems
const SIGN_IN_PROBLEMS = [missing_token, invalid_token, token_expired, token_revoked, address_not_allowed]
const REFUSALS = [
  httpProblems.insufficient_scope,
  httpProblems.rate_limited,
  accountProblems.account_suspended,
  accountProblems.quota_exceeded,
]
const BALANCES = ['enough', 'low', 'depleted']

/** The service's own metrics, for the operator's Prometheus (text exposition format). */
export class Telemetry {
  readonly #registry = new Registry()
  #tellsTotals = () => true
  readonly #requests = new Histogram({
    name: 'berth_http_request_duration_seconds',
    help: 'Requests by route and status, from the head of the request to the end of the reply',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
    registers: [this.#registry],
  })
  readonly #operations = new Histogram({
    name: 'berth_operation_duration_seconds',
    help: 'Duration of operations from request to end, by type and outcome',
    labelNames: ['type', 'outcome'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600],
    registers: [this.#registry],
  })
  readonly #failures = new Counter({
    name: 'berth_operation_failures_total',
    help: 'Failed operations, by type and error code; disk_lost and internal_error need attention',
    labelNames: ['type', 'code'],
    registers: [this.#registry],
  })
  readonly #signIns = new Counter({
    name: 'berth_auth_failures_total',
    help: 'Requests without a valid token, by reason',
    labelNames: ['reason'],
    registers: [this.#registry],
  })
  readonly #refusals = new Counter({
    name: 'berth_refusals_total',
    help: 'Requests that were refused because of the rights or limits of the account or token, by error code; rate_limited also without a token',
    labelNames: ['code'],
    registers: [this.#registry],
  })
  readonly #security = new Counter({
    name: 'berth_security_events_total',
    help: 'Secrets shown, tokens created and revoked over the API, by event',
    labelNames: ['event'],
    registers: [this.#registry],
  })
  readonly #unwritten = new Counter({
    name: 'berth_security_log_suppressed_total',
    help: 'Events that the security log has only as part of a count',
    registers: [this.#registry],
  })
  readonly #unreadable = new Counter({
    name: 'berth_metrics_unreadable_total',
    help: 'Gauges that could not be read when scraped',
    labelNames: ['gauge'],
    registers: [this.#registry],
  })

  constructor() {
    // Set to 0 at the start, so that the first event is an increase.
    for (const { code } of SIGN_IN_PROBLEMS) this.#signIns.inc({ reason: code }, 0)
    for (const { code } of REFUSALS) this.#refusals.inc({ code }, 0)
    // The process, the heap and the lag of the event loop.
    collectDefaultMetrics({ register: this.#registry })
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name)
    new Gauge({
      name: 'berth_build_info',
      help: 'Version of the program; always 1',
      labelNames: ['version', 'node'],
      registers: [this.#registry],
    }).set({ version: manifest.version, node: process.version }, 1)
  }

  readonly request = (request: { method: string; route: string; status: number; seconds: number }): void => {
    const { method, route, status, seconds } = request
    this.#requests.observe({ method, route, status }, seconds)
  }

  readonly operation = ({ type, outcome, code, seconds }: OperationEnd): void => {
    this.#operations.observe({ type, outcome }, seconds)
    if (code !== null) this.#failures.inc({ type, code })
  }

  readonly security = ({ event, code }: SecurityEvent, isWritten: boolean): void => {
    if (event === 'sign_in_failed') this.#signIns.inc({ reason: code ?? '' })
    else if (event === 'request_refused') this.#refusals.inc({ code: code ?? '' })
    else this.#security.inc({ event })
    if (!isWritten && code !== httpProblems.missing_token.code) this.#unwritten.inc()
  }

  /** Adds the gauges that are read anew at each scrape. */
  watch(sources: TelemetrySources): void {
    this.#tellsTotals = sources.tellsTotals ?? this.#tellsTotals
    this.#watchServers(sources)
    this.#watchQueues(sources)
    this.#watchPlace(sources)
  }

  #watchServers({ db, servers, capacity, images }: TelemetrySources): void {
    this.#gauge('berth_servers', 'Servers by status and zone', ['status', 'zone'], async (set) => {
      for (const { status, zone_slug, total } of await servers.count())
        set(total, { status, zone: zone_slug })
    })
    const place = ['zone', 'cpu_type']
    this.#gauge('berth_capacity_largest_cpu', 'Cores of the largest server that fits', place, async (set) => {
      for (const row of await capacity.list(db))
        set(row.max_server.cpu, { zone: row.zone_slug, cpu_type: row.cpu_type })
    })
    const largest = 'Memory of the largest server that fits'
    this.#gauge('berth_capacity_largest_ram_bytes', largest, place, async (set) => {
      for (const row of await capacity.list(db))
        set(row.max_server.ram_mb * 2 ** 20, { zone: row.zone_slug, cpu_type: row.cpu_type })
    })
    const kind = ['pool', 'resource']
    this.#gauge('berth_capacity_offered', 'Capacity that a pool can sell, by resource', kind, async (set) => {
      for (const { pool, total } of await capacity.pools(db))
        for (const [resource, value] of amounts(total)) set(value, { pool, resource })
    })
    this.#gauge(
      'berth_capacity_used',
      'Capacity of a pool that servers use, by resource',
      kind,
      async (set) => {
        for (const { pool, used } of await capacity.pools(db))
          for (const [resource, value] of amounts(used)) set(value, { pool, resource })
      },
    )
    const bytes = 'Size of images that are ready; 0 if an image is not'
    this.#ownGauge('berth_image_bytes', bytes, ['template'], async (set) => {
      for (const image of await images()) set(image.bytes ?? 0, { template: image.template })
    })
    const failed = '1 if the last attempt to prepare the image failed'
    this.#ownGauge('berth_image_failed', failed, ['template'], async (set) => {
      for (const { template, isFailed } of await images()) set(isFailed ? 1 : 0, { template })
    })
  }

  /** Queues: their lengths, and the age of their oldest entries. */
  #watchQueues(sources: TelemetrySources): void {
    const { db, clock, webhooks } = sources
    const age = (at: number | null) => (at === null ? 0 : Math.max(0, clock.now() - at) / 1000)
    const queued = 'Operations that are due and queued'
    this.#gauge('berth_operations_queued', queued, [], async (set) => set(await queueDepth(db, clock.now())))
    const kind = ['type', 'status']
    this.#gauge('berth_operations_active', 'Active operations', kind, async (set) => {
      for (const { type, status, total } of await activeOperations(db)) set(total, { type, status })
    })
    const oldest = 'Age of the oldest active operation'
    this.#gauge('berth_operations_oldest_seconds', oldest, kind, async (set) => {
      for (const { type, status, oldest_created_at } of await activeOperations(db))
        set(age(oldest_created_at), { type, status })
    })
    const pending = 'Pending deliveries to verified webhooks'
    this.#gauge('berth_webhook_deliveries_pending', pending, [], async (set) =>
      set((await deliveryBacklog(db)).total),
    )
    const waiting = 'Age of the oldest pending webhook delivery'
    this.#gauge('berth_webhook_deliveries_oldest_seconds', waiting, [], async (set) =>
      set(age((await deliveryBacklog(db)).oldest_created_at)),
    )
    const verified = 'Webhooks by whether their endpoint has answered a challenge'
    this.#gauge('berth_webhooks', verified, ['verification'], async (set) => {
      for (const { verification, total } of await countVerifications(db)) set(total, { verification })
    })
    const copies =
      'Snapshots and backups: verified, new, overdue (not verified a day after it was due), damaged'
    this.#gauge('berth_copies', copies, ['kind', 'state'], async (set) => {
      for (const { kind, state, total } of await countCopies(db, clock.now())) set(total, { kind, state })
    })
    const boots =
      'Backups by how they started when last booted: agent, console or init (they did), unproven, failed'
    this.#gauge('berth_backup_boots', boots, ['result'], async (set) => {
      for (const { result, total } of await countBoots(db)) set(total, { result: result ?? '' })
    })
    const offsite =
      'Snapshots, images and backups by their state off site: stored, waiting to be copied, removing'
    this.#gauge('berth_offsite_copies', offsite, ['state'], async (set) => {
      for (const { state, total } of await countOffsite(db)) set(total, { state })
    })
    const unsent = 'Age of the oldest snapshot, image or backup that is not off site; 0 if no place is set'
    this.#gauge('berth_offsite_oldest_seconds', unsent, [], async (set) => {
      const waiting = (await countOffsite(db)).find(({ state }) => state === 'waiting')
      set(sources.offsite.place === null ? 0 : age(waiting?.oldest_created_at ?? null))
    })
    const throttled = 'Webhooks that wait for their turn, because much is sent to the same destination'
    this.#ownGauge('berth_webhooks_throttled', throttled, [], async (set) => set(webhooks.waiting))
    const lag = 'Time since the oldest charge became due'
    this.#gauge('berth_ledger_lag_seconds', lag, [], async (set) =>
      set(await chargeLagSeconds(db, clock.now())),
    )
    const held = 'Payments that the operator has to look at before they are booked'
    this.#gauge('berth_payments_held', held, [], async (set) => set(await countHeld(db)))
    const balances = 'Accounts by balance: enough, low (less than 72 hours of their servers), depleted'
    this.#gauge('berth_accounts', balances, ['balance'], async (set) => {
      for (const balance of BALANCES) set(0, { balance })
      for (const { standing, total } of await countStandings(db)) set(total, { balance: standing })
    })
  }

  #watchPlace({ db, clock, dataDir, backedUpAt, ...is }: TelemetrySources): void {
    const invalid = '1 if the catalogue file is invalid, so that the last good one is in force'
    this.#ownGauge('berth_catalog_invalid', invalid, [], async (set) => set(is.isCatalogInvalid() ? 1 : 0))
    const full = '1 if a disk had no room for a write within the last two minutes'
    this.#ownGauge('berth_disk_full', full, [], async (set) => set(is.isDiskFull() ? 1 : 0))
    const doctor =
      'The checks of berthd doctor but the walls, made every ten minutes: 1 without a fault, 0 with one'
    this.#ownGauge('berth_doctor', doctor, ['check'], async (set) => {
      for (const [check, isFaulty] of is.faults()) set(isFaulty ? 0 : 1, { check })
    })
    const backup =
      'Time since the last backup by berthd backup; +Inf if there has never been one, NaN if unknown'
    this.#ownGauge('berth_backup_age_seconds', backup, [], async (set) => {
      const at = await backedUpAt()
      set(at === null ? Number.NaN : Math.max(0, clock.now() - at) / 1000)
    })
    this.#ownGauge('berth_database_ping_seconds', 'Response time of the database', [], async (set) => {
      const start = process.hrtime.bigint()
      await ping(db)
      set(Number(process.hrtime.bigint() - start) / 1e9)
    })
    const free = 'Free space in the file system of the data folder'
    this.#ownGauge('berth_data_free_bytes', free, [], async (set) => {
      const { bavail, bsize } = await statfs(dataDir)
      set(bavail * bsize)
    })
    const size = 'Size of the file system of the data folder'
    this.#ownGauge('berth_data_size_bytes', size, [], async (set) => {
      const { blocks, bsize } = await statfs(dataDir)
      set(blocks * bsize)
    })
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  /**
   * Serves GET /metrics on an address of its own, which the operator keeps private.
   * @returns the address, and a function that closes the listener
   */
  async listen(host: string, port: number): Promise<{ address: string; close: () => Promise<void> }> {
    const server = createServer(async ({ method = '', url, headers }, reply) => {
      if (!['GET', 'HEAD'].includes(method) || url !== '/metrics') return reply.writeHead(404).end()
      const isOpen = prefersOpenMetrics(headers.accept ?? '')
      const text = isOpen ? openMetrics(await this.text()) : await this.text()
      const type = isOpen ? `${OPEN_METRICS}; version=1.0.0; charset=utf-8` : this.#registry.contentType
      const head = { 'content-type': type, 'content-length': Buffer.byteLength(text), vary: 'Accept' }
      return reply.writeHead(200, head).end(text)
    })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
    const { port: bound } = server.address() as AddressInfo // it listens on TCP
    return {
      address: `http://${host}:${bound}/metrics`,
      close: () => new Promise((resolve) => void server.close(() => resolve()).closeAllConnections()),
    }
  }

  /** A gauge that is the same in all processes of the installation; only one process reports it. */
  #gauge(name: string, help: string, labelNames: string[], read: Read): void {
    this.#ownGauge(name, help, labelNames, async (set) => (this.#tellsTotals() ? read(set) : undefined))
  }

  /** A gauge of this process. If it can't be read, the reply omits it, and the failure is counted. */
  #ownGauge(name: string, help: string, labelNames: string[], read: Read): void {
    const unreadable = this.#unreadable
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      async collect() {
        this.reset()
        await read((value, labels = {}) => this.set(labels, value)).catch(() => {
          this.reset()
          unreadable.inc({ gauge: name })
        })
      },
    })
  }
}

function amounts({ cpu, ram_mb, disk_gb }: Size): [resource: string, value: number][] {
  return [
    ['cores', cpu],
    ['ram_bytes', ram_mb * 2 ** 20],
    ['disk_bytes', disk_gb * 2 ** 30],
  ]
}

function prefersOpenMetrics(accept: string): boolean {
  const weight = (type: string) =>
    Math.max(
      ...accept
        .split(',')
        .filter((part) => part.trim().startsWith(type))
        .map((part) => Number(/;\s*q=([\d.]+)/.exec(part)?.[1] ?? 1)),
    )
  return weight(OPEN_METRICS) > 0 && weight(OPEN_METRICS) >= weight('text/plain')
}

/** Writes the metrics as OpenMetrics, where only the lines of counters have the suffix. prom-client would rename the counters for good. */
function openMetrics(text: string): string {
  const lines = text.split('\n').filter((line) => line !== '')
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\S+)_total counter$/.exec(line)?.[1] ?? []))
  const renamed = lines.map((line) => {
    const [, head, name, rest] = /^(# (?:HELP|TYPE) )(\S+)_total( .*)$/.exec(line) ?? []
    return name && counters.has(name) ? `${head}${name}${rest}` : line
  })
  return `${renamed.join('\n')}\n# EOF\n`
}
