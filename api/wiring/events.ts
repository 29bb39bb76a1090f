import { paidBy } from '../billing/ledger.ts'
import { Streams } from '../events/streams.ts'
import { EventWorker } from '../events/worker.ts'
import { eventScopes } from '../features.ts'
import type { Access } from '../http/contract/auth.ts'
import { Addresses } from '../webhooks/addresses.ts'
import { enqueue, forgetDeliveries } from '../webhooks/deliveries.ts'
import { lookupName } from '../webhooks/resolve.ts'
import { WebhookWorker } from '../webhooks/worker.ts'
import type { Wired } from './options.ts'

/** Wires the parts that deliver events to customers: the relay, streams, webhooks. */
export function pushing(options: Wired, access: Access) {
  const { db, clock, log, secrets, webhookAllow = [], lookup = (name) => lookupName(name) } = options
  const { peers, owner } = options
  const addresses = new Addresses(webhookAllow)
  const webhooks = new WebhookWorker({ db, clock, log, secrets, addresses, lookup, peers, owner })
  const hasPaid = async (accountId: string) => (await paidBy(db, accountId)) > 0
  const streams = new Streams({ db, clock, log, access, eventScopes, hasPaid })
  const events = new EventWorker({
    db,
    clock,
    log,
    streams,
    publish: (tx, events) => enqueue(tx, events, clock.now()),
    peers,
    forget: (before, limit) => forgetDeliveries(db, before, limit),
  })
  return { events, webhooks, parts: { eventWorker: events, streams, addresses, relay: () => events.relay() } }
}
