import type { AutoTopUpSet, Payment, PaymentCreate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query, Settings } from './request.ts'

/** Pauses between looks at a payment: short while a customer watches, then longer. */
const PAUSE_MS = 2_000
const LONGEST_PAUSE_MS = 30_000

export function payments({ sleep }: Pick<Settings, 'sleep'>, call: Call) {
  const list = (query: Query<'GET /account/payments'> = {}, options?: CallOptions) =>
    call('GET /account/payments', { query }, options)
  const get = (payment_id: string, options?: CallOptions) =>
    call('GET /account/payments/{payment_id}', { path: { payment_id } }, options)
  const methods = (query: Query<'GET /account/payment_methods'> = {}, options?: CallOptions) =>
    call('GET /account/payment_methods', { query }, options)
  return {
    /** The services through which the account can be topped up. */
    providers: (options?: CallOptions) => call('GET /account/payment_providers', {}, options),
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'payment_id', {}, options),
    get,
    /** One page of the saved payment methods. */
    methods,
    /** All saved payment methods, page by page. */
    allMethods: (options?: CallOptions) => everyItem(methods, 'payment_method_id', {}, options),
    deleteMethod: (payment_method_id: string, options?: CallOptions) =>
      call('DELETE /account/payment_methods/{payment_method_id}', { path: { payment_method_id } }, options),
    autoTopUp: (options?: CallOptions) => call('GET /account/auto_top_up', {}, options),
    /** Charges a saved method whenever the balance falls below the line. */
    setAutoTopUp: (body: AutoTopUpSet, options?: CallOptions) =>
      call('PUT /account/auto_top_up', { body }, options),
    deleteAutoTopUp: (options?: CallOptions) => call('DELETE /account/auto_top_up', {}, options),
    /** Begins a payment: its `url` is the page where the customer pays; a saved method needs none. */
    create: (body: PaymentCreate, options?: CallOptions) => call('POST /account/payments', { body }, options),
    /** Resolves when a payment is no longer pending, or as soon as a condition of yours is true. */
    waitFor: async (
      payment_id: string,
      options: CallOptions = {},
      isEnough = (payment: Payment) => payment.status !== 'pending',
    ): Promise<Payment> => {
      for (let pause = PAUSE_MS; ; pause = Math.min(pause * 1.2, LONGEST_PAUSE_MS)) {
        const payment = await get(payment_id, options)
        if (isEnough(payment)) return payment
        await sleep(pause, options.signal)
      }
    },
  }
}

export function transfers(call: Call) {
  const list = (query: Query<'GET /account/transfers'> = {}, options?: CallOptions) =>
    call('GET /account/transfers', { query }, options)
  return {
    /** One page of invoices for bank transfers. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'transfer_id', {}, options),
    get: (transferId: string, options?: CallOptions) =>
      call('GET /account/transfers/{transfer_id}', { path: { transfer_id: transferId } }, options),
    /** With the details that a bank requires, in the language of the account's owner. */
    pdf: (transferId: string, options?: CallOptions) =>
      call(
        'GET /account/transfers/{transfer_id}/content.pdf',
        { path: { transfer_id: transferId } },
        options,
      ),
    /** Asks for an invoice over a sum in rubles, with the reference and the bank details to pay it. */
    create: (amountRub: string, options?: CallOptions) =>
      call('POST /account/transfers', { body: { amount_rub: amountRub } }, options),
  }
}

export function credits(call: Call) {
  const list = (query: Query<'GET /account/credits'> = {}, options?: CallOptions) =>
    call('GET /account/credits', { query }, options)
  return {
    /** One page of the credit from promo codes and the trial, with the rest of each. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'credit_id', {}, options),
    /** Redeems a promo code: its credit is in the balance at once. */
    redeem: (code: string, options?: CallOptions) =>
      call('POST /account/credits', { body: { code } }, options),
  }
}
