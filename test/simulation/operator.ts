import type { Customer } from './acting.ts'
import type { Chance } from './chance.ts'
import type { Client } from './customer.ts'
import { type Chore, chores, type Done, type Job, type Office } from './office.ts'

/** The acts of the installation's operator. */
export const duties = ['credit', 'hold', 'operate', 'deplete', 'refill', 'refund', ...chores] as const
export type Duty = (typeof duties)[number]

/** The operator, who books payments, and holds accounts and servers. */
export class Operator {
  readonly #client: Client
  readonly #office: Office
  /** The entry of each reference. */
  readonly #booked = new Map<string, string>()

  constructor(client: Client, office: Office) {
    this.#client = client
    this.#office = office
  }

  /** Compares everything that was accepted with the stored rows. */
  broken(): string[] {
    return this.#office.broken()
  }

  /** @returns what was done */
  async act(duty: Duty, job: Job): Promise<Done[]> {
    const { customer, chance, wait } = job
    if (isChore(duty)) return this.#office.act(duty, job)
    if (duty === 'credit') {
      const credit = entry(chance)
      const first = await this.#credit(customer, credit, chance)
      // People book a payment twice, and programs repeat a request with another key.
      return chance.is(0.2) ? [first] : [first, await this.#credit(customer, credit, chance)]
    }
    if (duty === 'refund') return this.#refund(customer, chance)
    const [path, body] = orders[duty](customer, chance)
    const done = await this.#send(path, body, chance)
    // Most holds are released soon, or else little would happen any more.
    if (!path.endsWith('/suspend') || chance.is(0.1)) return [done]
    await wait(chance.between(0, 40_000))
    return [done, await this.#send(path.replace('/suspend', '/resume'), body, chance)]
  }

  /** Refunds a payment of the customer, in part or twice. */
  async #refund({ accountId }: Customer, chance: Chance): Promise<Done[]> {
    const list = await this.#client.send(chance, 'GET', `/operator/payments?account_id=${accountId}&limit=5`)
    const paid = list?.status === 200 ? chance.pick<{ payment_id: string }>(list.body.items) : undefined
    if (!paid) return []
    const body = { ...REASON, amount_rub: chance.pick(['10.00', '50.00', '100.00']) }
    return [await this.#send(`payments/${paid.payment_id}/refund`, body, chance)]
  }

  async #send(path: string, body: object, chance: Chance): Promise<Done> {
    const reply = await this.#client.insist(chance, 'POST', `/operator/${path}`, body)
    return { said: `the operator sends ${path}`, reply }
  }

  async #credit(
    { accountId, client }: Customer,
    body: ReturnType<typeof entry>,
    chance: Chance,
  ): Promise<Done> {
    const reply = await this.#client.insist(chance, 'POST', `/operator/accounts/${accountId}/credit`, body)
    const told = { said: `the operator credits ${body.amount} to ${client.name}`, reply }
    if (!reply || ![200, 409].includes(reply.status)) return told
    const entry = `${accountId} ${body.amount} ${body.type}`
    const before = this.#booked.get(body.reference) ?? (reply.status === 200 ? entry : undefined)
    if (before === undefined) return told
    this.#booked.set(body.reference, before)
    const isSame = before.split(' ', 2).join(' ') === entry.split(' ', 2).join(' ')
    if ((reply.status === 200) === isSame) return told
    const broken = `a credit with a known reference is accepted if it is the same: ${entry} after ${before}`
    return { ...told, broken }
  }
}

const entry = (chance: Chance) => ({
  amount: chance.pick(['100.00', '1000.00', '-50.00']),
  type: chance.pick(['payment', 'correction']),
  reason: 'simulated',
  reference: `bank-${chance.below(6)}`,
})

const REASON = { reason: 'simulated' }

/** Empties the balance of an account, or makes it large. */
const booking =
  (verb: 'credit' | 'debit') =>
  ({ accountId }: Customer, chance: Chance): [string, object] => {
    const reference = `${verb}-${chance.below(2 ** 30)}`
    return [`accounts/${accountId}/${verb}`, { ...REASON, amount: '200000.00', type: 'payment', reference }]
  }

function holding({ accountId }: Customer, chance: Chance): [string, object] {
  return [`accounts/${accountId}/${chance.pick(['suspend', 'resume', 'resume'])}`, REASON]
}

function operating({ accountId, known }: Customer, chance: Chance): [string, object] {
  const server = chance.pick(known.servers.slice(-3))
  const debit = { ...REASON, amount: '5.00', type: 'correction', reference: `debit-${chance.below(1_000)}` }
  const acts: [string, object][] = [
    [`accounts/${accountId}/limits`, { ...REASON, limits: { servers: 30 } }],
    [`accounts/${accountId}/debit`, debit],
    ...['suspend', 'resume', 'resume', 'start', 'stop', 'reboot'].map((verb): [string, object] => [
      `servers/${server}/${verb}`,
      REASON,
    ]),
  ]
  return chance.pick(server ? acts : acts.slice(0, 2)) as [string, object] // the list is not empty
}

const isChore = (duty: Duty): duty is Chore => (chores as readonly string[]).includes(duty)

const orders = { hold: holding, operate: operating, deplete: booking('debit'), refill: booking('credit') }
