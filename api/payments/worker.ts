import { findAccount } from '../accounts/accounts.ts'
import { attemptAll } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { Loop } from '../loop.ts'
import { messageOf } from '../message-of.ts'
import { NoAnswer } from '../outgoing.ts'
import type { Peers } from '../processes/peers.ts'
import type { Secrets } from '../secrets.ts'
import { deleteOfClosed, forgetting } from './methods.ts'
import { KEY_LIVES_MS, openPayment, providerOf, returnsOf } from './payments.ts'
import { type PaymentProvider, Refused } from './provider.ts'
import { nextLook, settle } from './settling.ts'
import type { PaymentReturnTable, PaymentTable } from './tables.ts'
import { type ToppingUp, topUpAccounts } from './topping-up.ts'

const LOOK_EVERY_MS = 2_000
/** The number of payments checked at the same time, so that a hanging provider delays none for long. */
const AT_ONCE = 16
/** Notifications make a payment due, but not more often than this. */
const APART_MS = 2_000
/** A genuine notification contains few ids. */
const MOST_IDS = 4
const STUCK_MS = 30 * 24 * 3600_000
/** Closed accounts are many, so they are not searched in each round. */
const CLOSED_EVERY_MS = 600_000
/** The pauses after which a silent provider is asked again to forget a method: a key may lack the right for good. */
const FORGET_AGAIN_MS = 10_000
const LONGEST_FORGET_MS = 3600_000

/** Like the other queries of each round, this one mostly finds nothing and is compiled once. */
const duePayments = prepared((db, { now }: { now: number }) =>
  db.selectFrom('payments').selectAll().where('look_at', '<=', now).orderBy('look_at').limit(AT_ONCE),
)

interface PaymentWorkerOptions extends ToppingUp {
  peers: Peers
  secrets: Secrets
}

/**
 * Asks the providers about payments until each has an end, and books what they report. A payment's row is the job, with
 * the time at which it is due.
 */
export class PaymentWorker {
  readonly #options: PaymentWorkerOptions
  readonly #loop: Loop
  readonly #forgetMethods: ReturnType<typeof forgetting>
  #closedAt = Number.NEGATIVE_INFINITY
  #forgetAt = Number.NEGATIVE_INFINITY
  #forgetPauseMs = FORGET_AGAIN_MS
  /** Automatic payments whose results could not be recorded last time. */
  #notRecorded = 0

  constructor(options: PaymentWorkerOptions) {
    this.#options = options
    this.#forgetMethods = forgetting(options.providers)
    this.#loop = new Loop({
      clock: options.clock,
      log: options.log,
      turn: async () => {
        if ((await this.look()) === AT_ONCE) this.wake()
      },
      failure: 'due payments could not be fetched; trying again',
      pauseMs: () => LOOK_EVERY_MS,
      peers: options.peers,
      isOurs: () => options.peers.holds('billing'),
    })
  }

  start(): void {
    if (this.#options.providers.length > 0) this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  wake(): void {
    this.#loop.wake()
  }

  /**
   * Takes a provider's notification as a hint to ask about a payment soon. Anyone can send one, so its
   * content is not trusted.
   */
  async hint(provider: string, ids: readonly string[]): Promise<void> {
    const { db, clock } = this.#options
    const named = ids.slice(0, MOST_IDS)
    if (named.length === 0) return
    const now = clock.now()
    const rows = await db
      .selectFrom('payments')
      .selectAll()
      .where('provider', '=', provider)
      .where((eb) => eb.or([eb('provider_id', 'in', named), eb('charge_id', 'in', named)]))
      .limit(MOST_IDS)
      .execute()
    for (const { payment_id, looked_at, look_at } of rows) {
      const soon = Math.max(now, (looked_at ?? 0) + APART_MS)
      if (look_at !== null && look_at <= soon) continue
      await db.updateTable('payments').set({ look_at: soon }).where('payment_id', '=', payment_id).execute()
      this.wake()
    }
  }

  /** Checks the payments that are due, and what follows from them. @returns their number, at most AT_ONCE */
  async look(): Promise<number> {
    const { db, clock } = this.#options
    const due = await duePayments.all(db, { now: clock.now() })
    await attemptAll([
      () => this.#lookAtAll(due),
      () => this.#deleteOfClosed(),
      () => this.#forget(),
      () => this.#topUp(),
    ])
    return due.length
  }

  async #lookAtAll(due: readonly PaymentTable[]): Promise<void> {
    const { log } = this.#options
    const failures = (await Promise.all(due.map((payment) => this.#lookAt(payment)))).flatMap(
      (why) => why ?? [],
    )
    const [reason] = failures
    if (reason !== undefined)
      log.warn(
        { reason, payments: failures.length },
        'the provider of payments could not be asked; trying again',
      )
  }

  async #deleteOfClosed(): Promise<void> {
    const { db, clock } = this.#options
    if (clock.now() >= this.#closedAt && !(await deleteOfClosed(db, clock)))
      this.#closedAt = clock.now() + CLOSED_EVERY_MS
  }

  async #topUp(): Promise<void> {
    const { hasMore, failed } = await topUpAccounts(this.#options, this.#notRecorded)
    this.#notRecorded = failed
    if (hasMore) this.wake()
  }

  /**
   * Has the providers forget deleted methods. A provider that does not answer is called again after ever
   * longer pauses.
   */
  async #forget(): Promise<void> {
    const { db, clock, log } = this.#options
    const now = clock.now()
    if (now < this.#forgetAt) return
    try {
      await this.#forgetMethods(db)
      this.#forgetPauseMs = FORGET_AGAIN_MS
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      this.#forgetAt = now + this.#forgetPauseMs
      this.#forgetPauseMs = Math.min(2 * this.#forgetPauseMs, LONGEST_FORGET_MS)
      log.warn(
        { reason: error.message },
        'a deleted payment method is still known to its provider; trying again',
      )
    }
  }

  /** @returns the reason why the provider could not be asked; null if it was */
  async #lookAt(payment: PaymentTable): Promise<string | null> {
    const { log } = this.#options
    const { payment_id, account_id, provider } = payment
    try {
      const problem = await this.#ask(payment)
      if (problem !== null)
        log.warn({ payment_id, account_id, provider, problem }, 'a payment was not booked')
      return null
    } catch (error) {
      await this.#postpone(payment)
      if (error instanceof NoAnswer || error instanceof Refused) return messageOf(error)
      log.error({ err: error, payment_id, account_id, provider }, 'a payment could not be checked')
      return null
    }
  }

  /** @returns a problem that was not known before */
  async #ask(payment: PaymentTable): Promise<string | null> {
    const { db, clock, secrets, providers } = this.#options
    const { payment_id, provider_id } = payment
    if (provider_id === null) return this.#open(payment)
    const provider = providerOf(providers, payment)
    for (const refund of await returnsOf(db, [payment_id]))
      if (refund.status === 'requested' && refund.provider_id === null)
        await this.#send(provider, { ...payment, provider_id }, refund)
    const { news } = await settle(
      { db, clock, secrets },
      payment_id,
      await provider.find(provider_id, payment.charge_currency !== null),
    )
    return news
  }

  /**
   * Opens a payment whose request died. If it is too old to be repeated, nobody has its page, so it is not
   * paid. Only the operator can find out if a saved method was charged.
   */
  async #open(payment: PaymentTable): Promise<string | null> {
    const { db, clock } = this.#options
    if (clock.now() - payment.created_at < KEY_LIVES_MS)
      return (await openPayment(this.#options, payment)).problem
    const problem = 'The provider did not answer for a day. Look there whether the saved method was charged.'
    const isCharge = payment.method_id !== null
    await db
      .updateTable('payments')
      .set(isCharge ? { status: 'held', problem, look_at: null } : { status: 'canceled', look_at: null })
      .where('payment_id', '=', payment.payment_id)
      .where('provider_id', 'is', null)
      .execute()
    return isCharge ? problem : null
  }

  /**
   * Sends a refund that the operator requested. A repeat finds the first refund while the provider remembers
   * its key.
   */
  async #send(
    provider: PaymentProvider,
    payment: PaymentTable & { provider_id: string },
    refund: PaymentReturnTable,
  ): Promise<void> {
    const { db, clock } = this.#options
    const { return_id: refundId, reason } = refund
    const amount = refund.charge_amount ?? refund.amount
    const isOld = clock.now() - refund.created_at > KEY_LIVES_MS
    const { email } = await findAccount(db, payment.account_id)
    const ids = { providerId: payment.provider_id, chargeId: payment.charge_id }
    const sending = { refundId, payment: ids, amount, reason: reason ?? '', email }
    const sent = isOld
      ? new Refused('The provider did not answer for a day. Look there whether it was refunded.')
      : await provider.refund(sending).catch((error: unknown) => {
          if (error instanceof Refused) return error
          throw error
        })
    const change =
      sent instanceof Refused ? { status: 'failed' as const, reason: sent.message } : { provider_id: sent }
    await db
      .updateTable('payment_returns')
      .set(change)
      .where('return_id', '=', refundId)
      .where('status', '=', 'requested')
      .execute()
  }

  /** A payment that waits forever must not count towards its account's open payments for good. */
  async #postpone({ payment_id, status, created_at, problem }: PaymentTable): Promise<void> {
    const { db, clock } = this.#options
    const now = clock.now()
    const isStuck = status === 'pending' && now - created_at > STUCK_MS
    const change = isStuck
      ? { status: 'held' as const, problem: problem ?? 'The provider has reported no end of it for a month.' }
      : {}
    const look_at = nextLook({ status: isStuck ? 'held' : 'pending', created_at }, now, false)
    await db
      .updateTable('payments')
      .set({ ...change, look_at })
      .where('payment_id', '=', payment_id)
      .execute()
  }
}
