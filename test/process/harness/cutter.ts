import { createConnection, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** The moment at which a commit's connection is cut: before the server receives it, or before its answer arrives. */
type Cut = 'before' | 'after'
/**
 * The state of the connection to the database: nothing passes and the process notices at once, or it hears nothing.
 */
export type Wall = 'refuses' | 'is silent' | null

export interface Cutter {
  /** The URL of the database by way of this proxy. */
  url: string
  cutNext: (when: Cut) => void
  part: (wall: Wall) => void
}

/** Forwards a PostgreSQL client's connections, until it is ordered to cut the next one that commits, or all. */
export async function cutter(url: string): Promise<Cutter> {
  const { hostname, port } = new URL(url)
  let cut: Cut | null = null
  let wall: Wall = null
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    if (wall === 'refuses') return client.destroy()
    const server = createConnection(Number(port), hostname)
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        client.destroy()
        server.destroy()
        sockets.delete(socket)
      })
      if (wall) socket.pause()
    }
    let isCutting = false
    client.on('data', (bytes) => {
      const when = bytes.includes('COMMIT') ? cut : null
      if (when) cut = null
      if (when === 'before') return client.destroy()
      isCutting ||= when === 'after'
      server.write(bytes)
    })
    server.on('data', (bytes) => (isCutting ? client.destroy() : client.write(bytes)))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const address = proxy.address()
  if (typeof address !== 'object' || address === null) throw new Error('the system gave no port')
  const through = new URL(url)
  through.port = String(address.port)
  return {
    url: through.href,
    cutNext: (when) => {
      cut = when
    },
    part: (now) => {
      wall = now
      // Data in transit arrives when the partition ends, as in real networks.
      for (const socket of sockets)
        if (now === 'refuses') socket.destroy()
        else if (now) socket.pause()
        else socket.resume()
    },
  }
}
