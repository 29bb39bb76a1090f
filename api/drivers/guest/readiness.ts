import type { HostKey } from '../driver.ts'
import { SshProbe } from './probe.ts'

type Answer = { hostKeys: HostKey[] }

/** A machine to probe. Each boot has a unique number. */
export interface Asked {
  readonly boot: number
  readonly sshPort: number | null
  readonly hasPasst: boolean
}

/** The facts known about one boot of a machine. */
interface Boot {
  boot: number
  /** The time of the first probe, on a monotonic clock. */
  since: number
  answer: Answer | null
  question: Promise<Answer | null> | null
}

/** The time that a caller waits: a second, less some time to reply. */
const CALL_MS = 900
/** The time limit of one probe. sshd of a large distribution takes seconds to answer on a loaded host. */
const PATIENCE_MS = 30_000
const HANDSHAKE_MS = 20_000

/**
 * Determines whether guests answer on ssh. A guest's keys are read once per boot. A slow guest takes longer than a
 * caller waits, so a probe continues between calls.
 */
export class Readiness {
  readonly #address: string
  readonly #probe = new SshProbe()
  readonly #boots = new WeakMap<Asked, Boot>()

  constructor(address: string) {
    this.#address = address
  }

  async ask(machine: Asked): Promise<Answer | null> {
    const boot = this.#bootOf(machine)
    if (boot.answer) return boot.answer
    boot.question ??= this.#read(machine, boot).finally(() => {
      boot.question = null
    })
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, CALL_MS, null)
    })
    const answer = await Promise.race([boot.question, patience])
    clearTimeout(timer)
    return machine.boot === boot.boot ? answer : null
  }

  #bootOf(machine: Asked): Boot {
    const known = this.#boots.get(machine)
    if (known?.boot === machine.boot) return known
    const boot = { boot: machine.boot, since: performance.now(), answer: null, question: null }
    this.#boots.set(machine, boot)
    return boot
  }

  async #read(machine: Asked, boot: Boot): Promise<Answer | null> {
    if (machine.sshPort === null) return null
    const hostKeys = await this.#probe.ask({
      host: this.#address,
      port: machine.sshPort,
      patienceMs: PATIENCE_MS,
      handshakeMs: HANDSHAKE_MS,
      waitedMs: performance.now() - boot.since,
      lingers: machine.hasPasst,
    })
    if (!hostKeys) return null
    // A server that shows no key does answer, but is probed again the next time.
    if (hostKeys.length > 0) boot.answer = { hostKeys }
    return { hostKeys }
  }

  /** Ends the thread of the probes; probes in progress return null. */
  close(): void {
    this.#probe.close()
  }
}
