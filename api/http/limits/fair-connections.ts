import type { Socket } from 'node:net'
import { widestOf } from './rate-limit.ts'

/**
 * The open connections of untrusted clients, by network. When all places are taken, the network with the most
 * connections loses its oldest one to a network with none or clearly fewer. So no number of addresses can keep others
 * out.
 */
export class FairConnections {
  readonly #ofNetwork = new Map<string, Set<Socket>>()
  /** The networks by their number of connections, which is the index. */
  readonly #withCount: Set<string>[] = []
  #largest = 0

  /** Adds a connection until it is closed. */
  add(socket: Socket, address: string): void {
    const network = widestOf(address)
    const sockets = this.#ofNetwork.get(network) ?? new Set()
    this.#ofNetwork.set(network, sockets)
    sockets.add(socket)
    this.#count(network, sockets.size - 1, sockets.size)
    socket.once('close', () => this.#remove(socket, network))
  }

  /**
   * Closes a connection of the largest network in favour of a new one.
   * @returns false if the new one must be closed instead
   */
  makeRoom(address: string): boolean {
    const own = this.#ofNetwork.get(widestOf(address))?.size ?? 0
    if (own > 0 && own + 1 >= this.#largest) return false
    const [network = ''] = this.#withCount[this.#largest] ?? []
    const [oldest] = this.#ofNetwork.get(network) ?? []
    if (!oldest) return false
    this.#remove(oldest, network)
    oldest.destroy()
    return true
  }

  #remove(socket: Socket, network: string): void {
    const sockets = this.#ofNetwork.get(network)
    if (!sockets?.delete(socket)) return
    this.#count(network, sockets.size + 1, sockets.size)
    if (sockets.size === 0) this.#ofNetwork.delete(network)
  }

  #count(network: string, before: number, after: number): void {
    this.#withCount[before]?.delete(network)
    const equals = this.#withCount[after] ?? new Set()
    this.#withCount[after] = equals
    if (after > 0) equals.add(network)
    if (after > this.#largest) this.#largest = after
    else if (this.#largest === before && !this.#withCount[before]?.size) this.#largest = after
  }
}
