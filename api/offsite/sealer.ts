import { Worker } from 'node:worker_threads'

export interface Request {
  id: number
  type: 'seal' | 'open'
  bytes: Uint8Array
}

export interface Answer {
  id: number
  /** Null if the data was not sealed with this key, or was changed. */
  bytes: Uint8Array | null
}

/**
 * Encrypts with age in a worker thread: 16 MiB take 160 ms, which would block the service. A request that kills the
 * thread fails, and the next one starts another thread.
 */
export class Sealer {
  readonly #identity: string
  readonly #waiting = new Map<number, PromiseWithResolvers<Uint8Array | null>>()
  #worker: Worker | null = null
  #count = 0
  #countAtRest = 0

  /** @param identity the secret key, AGE-SECRET-KEY-1… */
  constructor(identity: string) {
    this.#identity = identity
  }

  /** @returns a whole age file */
  async seal(bytes: Uint8Array): Promise<Uint8Array> {
    const sealed = await this.#ask('seal', bytes)
    if (!sealed) throw new Error('age did not encrypt')
    return sealed
  }

  /** @returns null if it was not sealed with this key, or was changed */
  open(bytes: Uint8Array): Promise<Uint8Array | null> {
    return this.#ask('open', bytes)
  }

  /** Ends the thread unless it was used since the last call, so that its memory is released. */
  rest(): void {
    const isIdle = this.#count === this.#countAtRest && this.#waiting.size === 0
    this.#countAtRest = this.#count
    if (!isIdle || !this.#worker) return
    const worker = this.#worker
    this.#worker = null
    void worker.terminate()
  }

  #ask(type: Request['type'], bytes: Uint8Array): Promise<Uint8Array | null> {
    this.#worker ??= this.#begin()
    const id = ++this.#count
    const answer = Promise.withResolvers<Uint8Array | null>()
    this.#waiting.set(id, answer)
    this.#worker.postMessage({ id, type, bytes } satisfies Request)
    return answer.promise
  }

  #begin(): Worker {
    const worker = new Worker(new URL('./age-worker.ts', import.meta.url), { workerData: this.#identity })
    worker.unref()
    worker.on('message', ({ id, bytes }: Answer) => {
      this.#waiting.get(id)?.resolve(bytes)
      this.#waiting.delete(id)
    })
    const end = (reason: unknown) => {
      if (this.#worker !== worker) return
      this.#worker = null
      for (const { reject } of this.#waiting.values()) reject(reason)
      this.#waiting.clear()
    }
    worker.on('error', end)
    worker.on('exit', () => end(new Error('The thread that encrypts has ended')))
    return worker
  }
}
