import { AsyncLocalStorage } from 'node:async_hooks'
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { networkOf } from './rate-limit.ts'

/** Who requests what, and from where. */
export interface Origin {
  /** The operationId of the route, or the operator's command. */
  action: string
  /** Null for the operator's commands, and for people. */
  tokenId: string | null
  /** Null for the operator's commands, and for tokens. */
  person: { personId: string; email: string } | null
  address: string | null
  requestId: string
}

const current = new AsyncLocalStorage<Origin>()

/** Where a request comes from. What a proxy passes on may be no address: then it is the proxy's. */
export function addressOf({ ip, socket }: FastifyRequest): string {
  return isIP(ip) === 0 ? (socket.remoteAddress ?? '') : ip
}

/** Whose turn and share a request is: its account's, or without a valid token its address's. */
export function callerOf(request: FastifyRequest): string {
  return request.known?.actor?.accountId ?? networkOf(addressOf(request))
}

/** Carries something out on behalf of somebody: the changes that it makes are theirs. */
export function onBehalfOf<Result>(origin: Origin, run: () => Result): Result {
  return current.run(origin, run)
}

/** Whose change this is; none where the service acts by itself. */
export function currentOrigin(): Origin | undefined {
  return current.getStore()
}
