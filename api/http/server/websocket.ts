import { type IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { ApiError, httpProblems } from '../contract/problem.ts'
import { PREFIX } from '../contract/route.ts'
import { addressOf } from '../limits/origin.ts'
import { refuseForeignPage } from './page-origin.ts'

/** A browser sends this much at once only when pasting; longer text comes in pieces. */
const MAX_MESSAGE = 64 * 1024

/** An endpoint for WebSockets. It authorizes their clients itself. */
export interface SocketRoute {
  /** The name under which it is counted and logged. */
  id: string
  /** Relative to /v1. */
  path: string
  /** The subprotocol that both sides use; a client offers it together with its credential. */
  protocol: string
  /**
   * @param offered the other subprotocols
   * @returns the handler of the socket
   * @throws ApiError if the client is refused
   */
  admit(offered: readonly string[], address: string): Promise<(socket: WebSocket) => void>
}

/** True if a request asks for a WebSocket. Requests to upgrade to another protocol are answered in HTTP. */
export function isForSocket(routes: readonly SocketRoute[], { method, url = '', headers }: IncomingMessage) {
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false
  return routes.some(({ path }) => url.split('?')[0] === PREFIX + path)
}

/**
 * Mounts them. Their requests pass the same hooks as all others: they are counted, and refused with problem documents.
 * @param publicUrl the address at which customers find the service, if it is known
 */
export function mountSockets(
  http: FastifyInstance,
  routes: readonly SocketRoute[],
  publicUrl: string | undefined,
): void {
  const heads = new WeakMap<IncomingMessage, Buffer>()
  http.server.on('upgrade', (request: IncomingMessage, socket, head: Buffer) => {
    heads.set(request, head)
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.once('finish', () => socket.end())
    response.assignSocket(request.socket)
    http.routing(request, response)
  })
  for (const route of routes) {
    const { id, path, protocol, admit } = route
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE,
      handleProtocols: () => protocol,
    })
    http.get(PREFIX + path, { config: { action: id } }, async (request, reply) => {
      const head = heads.get(request.raw)
      const offered = protocolsOf(request)
      if (!head || !offered.includes(protocol))
        throw new ApiError(
          httpProblems.bad_request,
          `This is the address of a WebSocket with the subprotocol ${protocol}. A browser opens it with new WebSocket(url, ["${protocol}", ticket]).`,
        )
      refuseForeignPage(request, publicUrl)
      const others = offered.filter((name) => name !== protocol)
      const take = await admit(others, addressOf(request))
      reply.hijack()
      reply.raw.detachSocket(request.raw.socket)
      server.handleUpgrade(request.raw, request.raw.socket, head, take)
    })
  }
}

function protocolsOf({ headers }: FastifyRequest): string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
}
