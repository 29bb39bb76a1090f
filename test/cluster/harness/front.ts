import { createConnection, createServer, type Server, type Socket } from 'node:net'

/** A load balancer: each connection goes to the next process that accepts it. */
export class Front {
  readonly #ports = new Map<string, number>()
  readonly #sockets = new Set<Socket>()
  readonly #server: Server = createServer((client) => this.#pass(client, [...this.#inTurn()]))
  #turn = 0

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  get origin(): string {
    const address = this.#server.address()
    if (typeof address !== 'object' || address === null) throw new Error('it does not listen')
    return `http://127.0.0.1:${address.port}`
  }

  /** Adds a process that gets connections. */
  add(name: string, address: string): void {
    this.#ports.set(name, Number(new URL(address).port))
  }

  /** Sends no more connections to a process; existing ones stay. */
  remove(name: string): void {
    this.#ports.delete(name)
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #inTurn(): number[] {
    const ports = [...this.#ports.values()]
    const first = this.#turn++ % Math.max(1, ports.length)
    return [...ports.slice(first), ...ports.slice(0, first)]
  }

  #pass(client: Socket, [port, ...others]: number[]): void {
    if (port === undefined) {
      client.destroy()
      return
    }
    const server = createConnection(port, '127.0.0.1')
    let isThere = false
    const refused = () => (isThere ? client.destroy() : this.#pass(client, others))
    server.on('error', refused)
    server.once('connect', () => {
      isThere = true
      for (const [from, to] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(from)
        from.on('error', () => to.destroy())
        from.once('close', () => {
          this.#sockets.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
  }
}
