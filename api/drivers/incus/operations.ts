import type WebSocket from 'ws'
import type { Log } from '../log.ts'
import { at, type IncusClient, type Sent } from './client.ts'
import { IncusError } from './errors.ts'

/** The state of an operation: final from 200 on. */
export interface Operation {
  id: string
  status_code: number
  err: string
  metadata: Record<string, unknown> | null
  description?: string
}

interface Waiter {
  resolve(operation: Operation): void
  reject(error: unknown): void
}

interface LifecycleEvent {
  action: string
  /** The path of the resource. */
  source: string
}

type Event = { type: 'lifecycle'; metadata: LifecycleEvent } | { type: 'operation'; metadata: Operation }

const FINAL = 200
const SUCCESS = 200
/** Milliseconds between looks at operations whose events are missing. */
const LOOK_MS = { listening: 2_000, deaf: 250 }
const WAIT_MS = 120_000
const RECONNECT_MS = 1_000
/** The number of ends that are kept because their events arrived before the replies to their calls. */
const MOST_EARLY = 500

/**
 * Waits for operations by the cluster's events and, as a safety net, looks at each every two seconds. Waiting with
 * `/operations/ID/wait` is not enough: in clusters it may return immediately, with an operation that still runs.
 */
export class Operations {
  readonly #client: IncusClient
  readonly #log: Log
  readonly #waiters = new Map<string, Waiter>()
  readonly #early = new Map<string, Operation>()
  readonly #onEvent: (event: LifecycleEvent) => void
  #socket: WebSocket | null = null
  #isListening = false
  #isClosed = false
  #reconnect: NodeJS.Timeout | undefined

  /** @param onEvent called for all lifecycle events */
  constructor(client: IncusClient, log: Log, onEvent: (event: LifecycleEvent) => void) {
    this.#client = client
    this.#log = log
    this.#onEvent = onEvent
    this.#listen()
  }

  /**
   * Sends a call and waits for the end of its operation.
   * @throws IncusError also if the operation failed
   */
  async run(method: string, path: string, sent: Sent & { waitMs?: number } = {}): Promise<Operation | null> {
    const operation = await this.begin(method, path, sent)
    return operation === null ? null : this.#end(operation, sent.waitMs ?? WAIT_MS)
  }

  /** Sends a call without waiting for its operation. @returns the operation's id; null: it is done */
  async begin(method: string, path: string, sent: Sent = {}): Promise<string | null> {
    const { type, operation } = await this.#client.call(method, path, sent)
    return type === 'async' ? idOf(operation) : null
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#reconnect)
    this.#socket?.terminate()
    for (const { reject } of this.#waiters.values()) reject(new IncusError(0, 'The driver is closed'))
  }

  async #end(id: string, waitMs: number): Promise<Operation> {
    const operation = this.#early.get(id) ?? (await this.#wait(id, waitMs))
    this.#early.delete(id)
    if (operation.status_code === SUCCESS) return operation
    throw new IncusError(operation.status_code, operation.err)
  }

  #wait(id: string, waitMs: number): Promise<Operation> {
    const until = performance.now() + waitMs
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout
      const finish = () => {
        clearTimeout(timer)
        this.#waiters.delete(id)
      }
      const waiter: Waiter = {
        resolve: (operation) => {
          finish()
          resolve(operation)
        },
        reject: (error) => {
          finish()
          reject(error)
        },
      }
      const look = async () => {
        if (performance.now() > until) waiter.reject(new IncusError(0, 'The operation took too long'))
        else await this.#look(id, waiter)
        if (this.#waiters.get(id) === waiter) timer = setTimeout(look, this.#lookMs)
      }
      this.#waiters.set(id, waiter)
      timer = setTimeout(look, this.#lookMs)
    })
  }

  get #lookMs(): number {
    return this.#isListening ? LOOK_MS.listening : LOOK_MS.deaf
  }

  async #look(id: string, { resolve, reject }: Waiter): Promise<void> {
    try {
      const operation = await this.#client.get<Operation>(at(`/1.0/operations/${id}`))
      if (operation.status_code >= FINAL) resolve(operation)
    } catch (error) {
      // Incus forgets an operation seconds after its end; the caller looks at the resource, or tries again.
      if (error instanceof IncusError && error.refusal === 'missing')
        reject(new IncusError(0, 'The result of the operation is unknown'))
    }
  }

  /** Keeps a WebSocket open. Looking finds the operations that end between two WebSockets. */
  #listen(): void {
    if (this.#isClosed) return
    const path = at('/1.0/events', { type: 'operation,lifecycle', 'all-projects': 'true' })
    const socket = this.#client.socket(path)
    this.#socket = socket
    socket.on('open', () => {
      this.#isListening = true
      for (const [id, waiter] of this.#waiters) void this.#look(id, waiter)
    })
    socket.on('message', (data) => this.#hear(String(data)))
    socket.on('error', (error) =>
      this.#log.warn({ err: error }, 'The events of the cluster cannot be received'),
    )
    socket.on('close', () => {
      this.#isListening = false
      if (!this.#isClosed) this.#reconnect = setTimeout(() => this.#listen(), RECONNECT_MS).unref()
    })
  }

  #hear(text: string): void {
    const event: Event = JSON.parse(text)
    if (event.type === 'lifecycle') this.#onEvent(event.metadata)
    if (event.type !== 'operation' || event.metadata.status_code < FINAL) return
    const operation = event.metadata
    const waiter = this.#waiters.get(operation.id)
    if (waiter) {
      waiter.resolve(operation)
      return
    }
    this.#early.set(operation.id, operation)
    const [oldest] = this.#early.keys()
    if (this.#early.size > MOST_EARLY && oldest !== undefined) this.#early.delete(oldest)
  }
}

function idOf(path: string): string {
  return path.split('?')[0]?.split('/').pop() ?? ''
}
