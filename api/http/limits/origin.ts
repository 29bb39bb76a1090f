import { AsyncLocalStorage } from 'node:async_hooks'
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { networkOf } from './rate-limit.ts'

/** The caller of a request, its action and its address. */
export interface Origin {
  /** The operationId of the route, or the operator's command. */
  action: string
  /** Null for the operator's commands, and for people. */
  tokenId: string | null
  /** Null for the operator's commands, and for tokens. */
  person: { personId: string; email: string } | null
  address: string | null
  requestId: string
  /** The account of a customer's request; absent for operators and their commands. */
  accountId?: string
}

const current = new AsyncLocalStorage<Origin>()

/** The address of the client, or of the proxy if the proxy passes on something that is not an address. */
export function addressOf({ ip, socket }: FastifyRequest): string {
  return isIP(ip) === 0 ? (socket.remoteAddress ?? '') : ip
}

/** The caller whose limits a request counts against: its person, the account of its token, the operator's
 * token, or else its address. */
export function callerOf(request: FastifyRequest): string {
  const { signedIn, actor, operator } = request.known ?? {}
  return signedIn?.personId ?? actor?.accountId ?? operator?.tokenId ?? networkOf(addressOf(request))
}

/** Runs a function on behalf of a caller, to whom its changes are attributed. */
export function onBehalfOf<Result>(origin: Origin, run: () => Result): Result {
  return current.run(origin, run)
}

/** The caller on whose behalf this code runs; undefined if the service acts by itself. */
export function currentOrigin(): Origin | undefined {
  return current.getStore()
}

/** True if this code runs on behalf of a customer of another account, for example after the object moved. */
export function isForeign(accountId: string): boolean {
  const own = currentOrigin()?.accountId
  return own !== undefined && own !== accountId
}
