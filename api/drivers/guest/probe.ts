import { Worker } from 'node:worker_threads'
import type { HostKey } from '../driver.ts'
import type { Question } from './ssh.ts'

type Answer = HostKey[] | null

/** The limit after which the thread counts as hanging, in addition to its own limits. */
const MARGIN_MS = 1_000
/** After this time without questions, the thread ends and its memory is released. */
const IDLE_MS = 60_000
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 }

/**
 * Reads guests' ssh host keys, all in one thread beside the service's own. A guest that keeps that thread busy or makes
 * it fail only delays guests that are probed at the same time. The thread is then ended, and their probes return null
 * and can be repeated.
 */
export class SshProbe {
  readonly #file: URL
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #worker: Worker | null = null
  #idle: NodeJS.Timeout | undefined
  #count = 0

  /** @param file the program of the thread; for tests */
  constructor(file = new URL('./ssh-worker.ts', import.meta.url)) {
    this.#file = file
  }

  /** @returns as readHostKeys; null also on a timeout */
  ask(question: Question): Promise<Answer> {
    clearTimeout(this.#idle)
    this.#worker ??= this.#begin()
    const worker = this.#worker
    const id = ++this.#count
    return new Promise((resolve) => {
      const limit = question.patienceMs + question.handshakeMs * 2 + MARGIN_MS
      const timer = setTimeout(() => this.#end(worker), limit).unref()
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        resolve(answer)
      })
      worker.postMessage({ id, question })
    })
  }

  close(): void {
    if (this.#worker) this.#end(this.#worker)
  }

  #begin(): Worker {
    const worker = new Worker(this.#file, { resourceLimits: LIMITS })
    worker.unref()
    worker.on('message', ({ id, keys }: { id: number; keys: Answer }) => {
      this.#waiting.get(id)?.(keys)
      if (this.#waiting.size === 0) this.#idle = setTimeout(() => this.#end(worker), IDLE_MS).unref()
    })
    // An error without a listener would end the service; the thread's end follows it.
    worker.on('error', () => {})
    worker.on('exit', () => this.#end(worker))
    return worker
  }

  #end(worker: Worker): void {
    if (this.#worker !== worker) return
    this.#worker = null
    clearTimeout(this.#idle)
    void worker.terminate()
    for (const answer of this.#waiting.values()) answer(null)
  }
}
