import type { Customer, Known } from './acting.ts'
import type { Chance } from './chance.ts'
import type { Client, Reply, World } from './customer.ts'
import type { Auditor } from './invariants.ts'

/** The operator's acts that concern several accounts, or what they write to each other. */
export const chores = ['move', 'arrive', 'promote', 'announce', 'complain'] as const
export type Chore = (typeof chores)[number]

export interface Done {
  said: string
  reply: Reply | null
  broken?: string
}

export interface Job {
  customer: Customer
  customers: readonly Customer[]
  chance: Chance
  wait: (ms: number) => Promise<void>
}

interface Arrival {
  reference: string
  amount_rub: string
  bank_transaction_id: string
  isBooked: boolean
}

const DAY = 24 * 3600_000
const REASON = { reason: 'simulated' }
/** Codes that operators create and customers try. */
export const promoCodes = ['SIMULATED-0001', 'SIMULATED-0002', 'SIMULATED-0003'] as const

/** The operator's office: sells servers, reads the bank's statements, and writes to customers. */
export class Office {
  readonly #client: Client
  readonly #world: World
  readonly #auditor: Auditor
  /** Money that arrived at the bank, by the bank's id. A repeated report has the same content. */
  readonly #arrivals = new Map<string, Arrival>()
  /** The texts that were accepted for each complaint. */
  readonly #written = new Map<string, string[]>()

  constructor(client: Client, world: World, auditor: Auditor) {
    this.#client = client
    this.#world = world
    this.#auditor = auditor
  }

  /** @returns what was done */
  act(chore: Chore, job: Job): Promise<Done[]> {
    if (chore === 'move') return this.#move(job)
    if (chore === 'arrive') return this.#arrive(job)
    if (chore === 'promote') return this.#promote(job)
    return chore === 'announce' ? this.#announce(job) : this.#complain(job)
  }

  /** Compares everything that was accepted with the stored rows. */
  broken(): string[] {
    const rows = this.#auditor.rows<{ reference: string; amount: number }>(
      "SELECT reference, amount FROM transactions WHERE reference LIKE 'bank:%'",
    )
    const booked = new Map(rows.map(({ reference, amount }) => [reference.split(':').at(-1), amount]))
    const lost = [...this.#arrivals.values()].filter(
      ({ bank_transaction_id: id, amount_rub, isBooked }) =>
        (isBooked || booked.has(id)) && booked.get(id) !== Number(amount_rub) * 10_000,
    )
    const texts = (id: string) =>
      this.#auditor
        .rows<{ messages: string }>('SELECT messages FROM complaints WHERE complaint_id = ?', id)
        .map(({ messages }) => messages)
    return [
      ...lost.map(
        ({ bank_transaction_id: id, amount_rub }) =>
          `a bank transfer is booked as it arrived: ${id} with ${amount_rub}, here ${booked.get(id)}`,
      ),
      ...(rows.length === booked.size ? [] : ['a transaction of the bank is booked once']),
      ...[...this.#written].flatMap(([id, written]) =>
        written
          .filter((text) => texts(id).some((messages) => !messages.includes(text)))
          .map((text) => `messages about a complaint are kept: ${text} of ${id}`),
      ),
    ]
  }

  /** Sells a server to another account: stops it, has its owner detach objects that stay behind, and moves it. */
  async #move({ customer, customers, chance, wait }: Job): Promise<Done[]> {
    const { serverOf } = this.#world
    const own = customer.known.servers.slice(-3).filter((id) => serverOf(id) !== undefined)
    const server = chance.pick(own)
    const to = chance.pick(customers.filter(({ accountId }) => accountId !== customer.accountId))
    if (server === undefined || !to) return []
    const done: Done[] = []
    if (serverOf(server)?.status === 'running') {
      done.push(await this.#send(`servers/${server}/stop`, { ...REASON, force: true }, chance))
      await wait(15_000)
    }
    let moved = await this.#moveOnce(server, { customer, to, chance })
    const { attachments = [] }: { attachments?: Attachment[] } = moved.reply?.body ?? {}
    for (const one of attachments) await detach(customer, server, one, chance)
    if (attachments.length > 0) {
      await wait(15_000)
      moved = await this.#moveOnce(server, { customer, to, chance })
    }
    done.push(moved)
    if (moved.reply?.status !== 200) return done
    await wait(1)
    await customer.client.send(chance, 'GET', `/servers/${server}`)
    const seen = await to.client.send(chance, 'GET', `/servers/${server}`)
    const isThere =
      serverOf(server) !== undefined && this.#auditor.ownerOf('servers', server) === to.accountId
    if (seen?.status === 404 && isThere)
      done.push({ said: 'a look', reply: seen, broken: `an account sees the servers that it has: ${server}` })
    return done
  }

  async #moveOnce(
    server: string,
    { customer, to, chance }: { customer: Customer; to: Customer; chance: Chance },
  ): Promise<Done> {
    const { moves, sometimes } = this.#world
    return moves.during(async () => {
      const body = { ...REASON, account_id: to.accountId }
      const done = await this.#send(`servers/${server}/move`, body, chance)
      const hasMoved = this.#auditor.ownerOf('servers', server) === to.accountId
      if (hasMoved) this.#handOver(server, customer.known, to)
      if (hasMoved) moves.note(server)
      if (hasMoved) sometimes('a server moves to another account')
      return done
    })
  }

  /** Updates what both customers know about the owner of a server. */
  #handOver(server: string, from: Known, { known: to, accountId }: Customer): void {
    const isTheirs = (id: string) => this.#auditor.ownerOf('snapshots', id) === accountId
    to.snapshots.push(...from.snapshots.filter(isTheirs))
    from.snapshots = from.snapshots.filter((id) => !isTheirs(id))
    from.ports = from.ports.filter((port) => !port.startsWith(server))
    from.servers = from.servers.filter((id) => id !== server)
    to.servers = [...to.servers.filter((id) => id !== server), server]
  }

  /** Books the bank's reports: often twice, and sometimes with a mistake. */
  async #arrive({ customer, chance }: Job): Promise<Done[]> {
    const list = await customer.client.send(chance, 'GET', '/account/transfers')
    const invoice = list?.status === 200 ? chance.pick<{ reference: string }>(list.body.items) : undefined
    if (!invoice) return []
    const again = chance.is(0.4) ? chance.pick([...this.#arrivals.values()]) : undefined
    const arrival = again ?? {
      ...{ reference: invoice.reference, amount_rub: chance.pick(['500.00', '499.50', '1.00']) ?? '' },
      ...{ bank_transaction_id: `b-${this.#arrivals.size}`, isBooked: false },
    }
    this.#arrivals.set(arrival.bank_transaction_id, arrival)
    const done = [await this.#book(arrival, chance)]
    if (chance.is(0.5)) done.push(await this.#book(arrival, chance))
    if (!arrival.isBooked || !chance.is(0.3)) return done
    const { isBooked: _, ...body } = { ...arrival, amount_rub: '700.00' }
    const slip = await this.#send('transfers', body, chance)
    if (slip.reply?.status !== 200) return [...done, slip]
    return [
      ...done,
      { ...slip, broken: `a transaction of the bank has one amount: ${arrival.bank_transaction_id}` },
    ]
  }

  async #book(arrival: Arrival, chance: Chance): Promise<Done> {
    const { isBooked: _, ...body } = arrival
    const done = await this.#send('transfers', body, chance)
    if (done.reply?.status === 200) {
      arrival.isBooked = true
      this.#world.sometimes('a bank transfer is booked')
    }
    return done
  }

  /** Creates promo codes, or revokes one. */
  async #promote({ chance }: Job): Promise<Done[]> {
    if (chance.is(0.1)) {
      const list = await this.#client.send(chance, 'GET', '/operator/promo_codes?limit=5')
      const code = list?.status === 200 ? chance.pick<{ promo_code_id: string }>(list.body.items) : undefined
      if (code) return [await this.#send(`promo_codes/${code.promo_code_id}/revoke`, {}, chance)]
    }
    const done: Done[] = []
    for (const at of promoCodes.keys()) done.push(await this.#offer(at, chance))
    return done
  }

  /** Offers a promo code. A repeat on the same day is the same offer; on another day the code is taken. */
  #offer(at: number, chance: Chance): Promise<Done> {
    const expires = Math.ceil(this.#world.scheduler.now() / DAY) * DAY + 5 * DAY
    const terms = { amount_rub: `${10 * 9 ** at}.00`, credit_days: 1 + 2 * at, max_uses: 1 + at }
    const body = { name: 'simulated', code: promoCodes[at], ...terms }
    return this.#send('promo_codes', { ...body, expires_at: new Date(expires).toISOString() }, chance)
  }

  /** Announces something, perhaps changes it, and mostly ends it soon. */
  async #announce({ customer, chance, wait }: Job): Promise<Done[]> {
    const said = `News ${chance.below(6)}`
    const ends_at = chance.is(0.5) ? new Date(this.#world.scheduler.now() + DAY).toISOString() : null
    const zones = chance.is(0.5) ? [] : ['local-1']
    const body = { kind: chance.pick(['maintenance', 'incident', 'notice']), text: { en: said, ru: said } }
    const done = await this.#send('announcements', { ...body, zones, ends_at }, chance)
    const id: unknown = done.reply && done.reply.status < 300 ? done.reply.body.announcement_id : null
    if (typeof id !== 'string') return [done]
    const all = [done, ...(await this.#look(id, customer, chance))]
    if (chance.is(0.3)) {
      const reply = await this.#client.send(chance, 'PATCH', `/operator/announcements/${id}`, {
        ends_at: null,
      })
      all.push({ said: 'the operator changes an announcement', reply })
    }
    await wait(chance.between(0, 60_000))
    return chance.is(0.4) ? [...all, await this.#send(`announcements/${id}/end`, {}, chance)] : all
  }

  /** Checks that a customer sees an announcement if and only if it concerns them. */
  async #look(id: string, { accountId, client }: Customer, chance: Chance): Promise<Done[]> {
    const isDue = () => this.#concerns(id, accountId)
    const before = isDue()
    const seen = await client.send(chance, 'GET', '/announcements?limit=100')
    if (seen?.status !== 200 || before !== isDue()) return []
    const items: { announcement_id: string }[] = seen.body.items
    if (items.some(({ announcement_id }) => announcement_id === id) === before) return []
    const broken = `an account sees the announcements that concern it: ${client.name} ${id} ${before}`
    return [{ said: 'a look', reply: seen, broken }]
  }

  #concerns(id: string, accountId: string): boolean {
    const open = this.#auditor.rows(
      `SELECT 1 FROM announcements WHERE announcement_id = ? AND ended_at IS NULL
        AND coalesce(ends_at > simulated_now(), 1) AND (zones = '[]' OR EXISTS (SELECT 1 FROM servers
          WHERE account_id = ? AND deleted_at IS NULL))`,
      ...[id, accountId],
    )
    return open.length > 0
  }

  /** Opens a complaint about an account or one of its servers, or replies to one, or closes it. */
  async #complain({ customer: { accountId, known }, chance }: Job): Promise<Done[]> {
    const text = `text ${chance.below(2 ** 30)}`
    const status = chance.is(0.2) ? 'closed' : 'open'
    const path = `/operator/complaints?account_id=${accountId}&status=${status}&limit=5`
    const list = chance.is(0.6) ? await this.#client.send(chance, 'GET', path) : null
    const open = list?.status === 200 ? chance.pick<{ complaint_id: string }>(list.body.items) : undefined
    if (!open) {
      const server_id = chance.is(0.5) ? known.servers.at(-1) : undefined
      const about = { kind: chance.pick(['spam', 'scan']), text, deadline_hours: chance.pick([1, 24, 72]) }
      return [await this.#send(`accounts/${accountId}/complaints`, { ...about, server_id }, chance)]
    }
    const end = chance.is(0.3) ? { outcome: chance.pick(['solved', 'unfounded', 'measures_taken']) } : null
    const id = open.complaint_id
    const done = await this.#send(`complaints/${id}/${end ? 'close' : 'replies'}`, { text, ...end }, chance)
    if (done.reply && done.reply.status < 300) this.#written.set(id, [...(this.#written.get(id) ?? []), text])
    return [done]
  }

  async #send(path: string, body: object, chance: Chance): Promise<Done> {
    const isRepeatable = /^(transfers|promo_codes|announcements)\b/.test(path)
    const reply = await this.#client.insist(chance, 'POST', `/operator/${path}`, body, isRepeatable)
    return { said: `the operator sends ${path}`, reply }
  }
}

interface Attachment {
  type: 'volume' | 'network' | 'firewall' | 'address' | 'iso'
  id: string
}

/** Has the owner of a server detach something from it. */
async function detach(
  { client }: Customer,
  server: string,
  { type, id }: Attachment,
  chance: Chance,
): Promise<void> {
  if (type === 'volume') await client.insist(chance, 'POST', `/volumes/${id}/detach`, {})
  if (type === 'network') await client.insist(chance, 'DELETE', `/networks/${id}/servers/${server}`)
  if (type === 'firewall') await client.insist(chance, 'DELETE', `/firewalls/${id}/servers/${server}`)
  if (type === 'address') await client.send(chance, 'PATCH', `/addresses/${id}`, { server_id: null })
}
