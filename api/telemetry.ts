import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { chargeLagSeconds } from './billing/metering.ts'
import type { Capacity } from './catalog/capacity.ts'
import type { Clock } from './clock.ts'
import { type Database, ping } from './database/database.ts'
import type { OperationEnd } from './operations/engine.ts'
import { queueDepth } from './operations/operations.ts'
import type { Servers } from './servers/servers.ts'

/** What gauges are read from when somebody asks for them. */
export interface TelemetrySources {
  db: Database
  clock: Clock
  capacity: Capacity
  servers: Servers
  /** The bytes of each template's image; null where it is not ready. */
  images: () => Promise<{ template: string; bytes: number | null }[]>
}

/** The service's own metrics, for the operator's Prometheus (text exposition format). */
export class Telemetry {
  readonly #registry = new Registry()
  readonly #requests = new Histogram({
    name: 'berth_http_request_duration_seconds',
    help: 'Requests by route and status, from the head of the request to the end of the reply',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
    registers: [this.#registry],
  })
  readonly #operations = new Histogram({
    name: 'berth_operation_duration_seconds',
    help: 'Operations that have ended, by type and outcome, from the request on',
    labelNames: ['type', 'outcome'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600],
    registers: [this.#registry],
  })
  readonly #failures = new Counter({
    name: 'berth_operation_failures_total',
    help: 'Operations that have failed, by type and the code of the error; disk_lost and internal_error want a look',
    labelNames: ['type', 'code'],
    registers: [this.#registry],
  })
  readonly #unreadable = new Counter({
    name: 'berth_metrics_unreadable_total',
    help: 'Gauges that could not be read when they were asked for',
    labelNames: ['gauge'],
    registers: [this.#registry],
  })

  constructor() {
    // The process, the heap and the lag of the event loop.
    collectDefaultMetrics({ register: this.#registry })
  }

  readonly request = (request: { method: string; route: string; status: number; seconds: number }): void => {
    const { method, route, status, seconds } = request
    this.#requests.observe({ method, route, status }, seconds)
  }

  readonly operation = ({ type, outcome, code, seconds }: OperationEnd): void => {
    this.#operations.observe({ type, outcome }, seconds)
    if (code !== null) this.#failures.inc({ type, code })
  }

  /** Adds what is read anew at each scrape. */
  watch({ db, clock, capacity, servers, images }: TelemetrySources): void {
    this.#gauge('berth_servers', 'Servers by status and zone', ['status', 'zone'], async (set) => {
      for (const { status, zone_slug, total } of await servers.count())
        set(total, { status, zone: zone_slug })
    })
    this.#gauge(
      'berth_operations_queued',
      'Operations that are due and wait for their turn',
      [],
      async (set) => set(await queueDepth(db, clock.now())),
    )
    this.#gauge('berth_ledger_lag_seconds', 'How long the eldest charge has been due', [], async (set) =>
      set(await chargeLagSeconds(db, clock.now())),
    )
    this.#gauge('berth_database_ping_seconds', 'How long the database takes to answer', [], async (set) => {
      const start = process.hrtime.bigint()
      await ping(db)
      set(Number(process.hrtime.bigint() - start) / 1e9)
    })
    const place = ['zone', 'cpu_type']
    this.#gauge('berth_capacity_largest_cpu', 'Cores of the largest server that fits', place, async (set) => {
      for (const row of await capacity.list(db))
        set(row.max_server.cpu, { zone: row.zone_slug, cpu_type: row.cpu_type })
    })
    this.#gauge(
      'berth_capacity_largest_ram_mb',
      'Memory of the largest server that fits',
      place,
      async (set) => {
        for (const row of await capacity.list(db))
          set(row.max_server.ram_mb, { zone: row.zone_slug, cpu_type: row.cpu_type })
      },
    )
    this.#gauge(
      'berth_image_bytes',
      'Images that are ready; 0 where one is not',
      ['template'],
      async (set) => {
        for (const { template, bytes } of await images()) set(bytes ?? 0, { template })
      },
    )
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  /**
   * Answers GET /metrics on an address of its own, which the operator keeps from customers.
   * @returns the address, and what ends it
   */
  async listen(host: string, port: number): Promise<{ address: string; close: () => Promise<void> }> {
    const server = createServer(async (request, reply) => {
      if (request.method !== 'GET' || request.url !== '/metrics') return reply.writeHead(404).end()
      const text = await this.text()
      return reply.writeHead(200, { 'content-type': this.#registry.contentType }).end(text)
    })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
    const { port: bound } = server.address() as AddressInfo // it listens on TCP
    return {
      address: `http://${host}:${bound}/metrics`,
      close: () => new Promise((resolve) => void server.close(() => resolve()).closeAllConnections()),
    }
  }

  /** A gauge that can't be read is missing from the reply rather than failing it, and is counted. */
  #gauge(
    name: string,
    help: string,
    labelNames: string[],
    read: (set: (value: number, labels?: Record<string, string>) => void) => Promise<void>,
  ): void {
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
