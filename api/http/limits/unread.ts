import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../clock.ts'
import { Counts } from '../../concurrency.ts'
import { ApiError, httpProblems } from '../contract/problem.ts'
import { timeouts } from './connections.ts'
import { callerOf } from './origin.ts'

/** Limit for all unread replies of one caller: about ten of the longest replies. */
const MAX_BYTES = 16 * 2 ** 20

/**
 * Counts the bytes of replies that wait in memory because clients do not read them. An account may request a gigabyte
 * a minute, and a client that reads a byte now and then never times out.
 */
class Unread {
  readonly #ofCaller = new Counts()
  /** Callers that were refused a reply and have not read another one since. */
  readonly #full = new Set<string>()
  readonly #onSocket = new WeakMap<Socket, Set<() => void>>()

  /**
   * Counts a reply until it is sent, or its connection is closed.
   * @param caller an account's id, or an address
   * @returns false if the caller has too many unread replies; a single one is never too long
   */
  take(caller: string, bytes: number, reply: ServerResponse, socket: Socket): boolean {
    if (socket.destroyed) return true
    const held = this.#ofCaller.get(caller)
    if (held > 0 && held + bytes > MAX_BYTES) {
      this.#full.add(caller)
      return false
    }
    this.#ofCaller.add(caller, bytes)
    this.#onceTaken(reply, socket, () => this.#release(caller, bytes))
    return true
  }

  /** Closes the connection of a reply that is not read in time. */
  async limit(reply: ServerResponse, socket: Socket, clock: Clock): Promise<void> {
    // Almost all replies are sent at once, and need no timer.
    await new Promise(setImmediate)
    if (reply.writableFinished || socket.destroyed) return
    const taken = new AbortController()
    this.#onceTaken(reply, socket, () => taken.abort())
    await clock.sleep(timeouts.replyTimeout, taken.signal)
    if (!taken.signal.aborted) reply.destroy()
  }

  /** True if a reply would most likely be refused, so that it need not be built. */
  isFull(caller: string): boolean {
    return this.#full.has(caller)
  }

  /** Calls back once: when a whole reply is sent, or its connection is closed. */
  #onceTaken(reply: ServerResponse, socket: Socket, then: () => void): void {
    const replies = this.#repliesOn(socket)
    const release = () => {
      if (replies.delete(release)) then()
    }
    replies.add(release)
    reply.once('finish', release).once('close', release)
  }

  /** Replies that are queued behind another one do not notice that their connection is closed. */
  #repliesOn(socket: Socket): Set<() => void> {
    const known = this.#onSocket.get(socket)
    if (known) return known
    const replies = new Set<() => void>()
    this.#onSocket.set(socket, replies)
    socket.once('close', () => {
      for (const release of replies) release()
    })
    return replies
  }

  #release(caller: string, bytes: number): void {
    this.#full.delete(caller)
    this.#ofCaller.add(caller, -bytes)
  }
}

/**
 * Refuses reads of a caller with too many unread replies; replies to changes are always sent. It also limits the time
 * for a reply, except for streams, which have limits of their own.
 */
export function boundUnread(http: FastifyInstance, clock: Clock): void {
  const unread = new Unread()
  const refusal = () =>
    new ApiError(
      httpProblems.rate_limited,
      'Too many replies are still being sent. Read them first, or close their connections.',
      {},
      { 'retry-after': '1' },
    )
  http.addHook('onRequest', async (request) => {
    const { isFree } = request.routeOptions.config
    if (request.method === 'GET' && !isFree && unread.isFull(callerOf(request))) throw refusal()
  })
  http.addHook('onSend', async (request, reply, body: unknown) => {
    const isBytes = typeof body === 'string' || Buffer.isBuffer(body)
    if (isBytes) void unread.limit(reply.raw, request.raw.socket, clock)
    if (!isBytes || request.method !== 'GET' || reply.statusCode >= 400) return body
    if (unread.take(callerOf(request), Buffer.byteLength(body), reply.raw, request.raw.socket)) return body
    reply.removeHeader('link')
    throw refusal()
  })
}
