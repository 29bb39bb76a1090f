import type { FastifyInstance } from 'fastify'
import { providerNames } from './provider.ts'
import { Reply } from './requests.ts'
import type { PaymentWorker } from './worker.ts'

/**
 * Returns the ids in a notification that may name a payment: those of YooKassa's or Stripe's object, and of
 * objects it refers to.
 */
function idsOf(body: unknown): string[] {
  const sent = new Reply(body)
  const objects = [sent.at('object'), sent.at('data', 'object')]
  const names = ['id', 'payment_id', 'payment_intent']
  return objects.flatMap((object) => names.flatMap((name) => object.at(name).textOrNull ?? []))
}

/**
 * Mounts the addresses to which providers send notifications. A notification is only a hint, whose signature
 * is not checked: bookings follow the provider's own API, so all get the same reply.
 */
export function mountNotifications(http: FastifyInstance, worker: Pick<PaymentWorker, 'hint'>): void {
  for (const provider of providerNames)
    http.post(`/payments/${provider}/notify`, async ({ body }, reply) => {
      await worker.hint(provider, idsOf(body))
      return reply.header('cache-control', 'no-store').send({})
    })
}
