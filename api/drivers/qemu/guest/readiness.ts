import type { HostKey } from '../../driver.ts'
import type { Machine } from '../machine.ts'
import type { NetworkKind } from '../network.ts'
import { readHostKeys } from './ssh.ts'

type Answer = { hostKeys: HostKey[] }

/** A second, less what it takes to say so. */
const PATIENCE_MS = 900

/**
 * Whether guests answer on ssh. A guest's keys are asked for once per boot; reading them may take a slow guest
 * longer than a caller waits, so it goes on between calls.
 */
export class Readiness {
  readonly #address: string
  readonly #lingers: boolean
  readonly #answers = new WeakMap<Machine, { boot: number; answer: Answer }>()
  readonly #questions = new WeakMap<Machine, { boot: number; question: Promise<Answer | null> }>()

  constructor(address: string, network: NetworkKind) {
    this.#address = address
    this.#lingers = network === 'passt'
  }

  known(machine: Machine): Answer | null {
    const known = this.#answers.get(machine)
    return known?.boot === machine.boot ? known.answer : null
  }

  async ask(machine: Machine): Promise<Answer | null> {
    const known = this.known(machine)
    if (known) return known
    let asked = this.#questions.get(machine)
    if (asked?.boot !== machine.boot) {
      asked = { boot: machine.boot, question: this.#read(machine, machine.boot) }
      this.#questions.set(machine, asked)
    }
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS, null)
    })
    const answer = await Promise.race([asked.question, patience])
    clearTimeout(timer)
    return machine.boot === asked.boot ? answer : null
  }

  async #read(machine: Machine, boot: number): Promise<Answer | null> {
    try {
      const hostKeys =
        machine.sshPort === null
          ? null
          : await readHostKeys(this.#address, machine.sshPort, PATIENCE_MS, this.#lingers)
      if (!hostKeys) return null
      // A server that shows no key is asked again the next time, but it does answer.
      if (hostKeys.length > 0 && machine.boot === boot)
        this.#answers.set(machine, { boot, answer: { hostKeys } })
      return { hostKeys }
    } finally {
      if (this.#questions.get(machine)?.boot === boot) this.#questions.delete(machine)
    }
  }
}
