import type { FastifyInstance } from 'fastify'
import { providerNames } from './provider.ts'
import { Reply } from './requests.ts'
import type { PaymentWorker } from './worker.ts'

/** The ids of a notification that may name a payment: YooKassa's object and Stripe's, with what they refer to. */
function idsOf(body: unknown): string[] {
  const sent = new Reply(body)
  const objects = [sent.at('object'), sent.at('data', 'object')]
  const names = ['id', 'payment_id', 'payment_intent']
  return objects.flatMap((object) => names.flatMap((name) => object.at(name).textOrNull ?? []))
}

/**
 * Mounts the addresses that providers send notifications to. They are hints without a signature that counts: only what
 * the provider's own API says is booked, so all get the same reply.
 */
export function mountNotifications(http: FastifyInstance, worker: Pick<PaymentWorker, 'hint'>): void {
  for (const provider of providerNames)
    http.post(`/payments/${provider}/notify`, async ({ body }, reply) => {
      await worker.hint(provider, idsOf(body))
      return reply.header('cache-control', 'no-store').send({})
    })
}
