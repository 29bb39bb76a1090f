import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import type { PublishedPort } from '../../driver.ts'

/** True if a program of this host uses the port. */
export function isTaken(
  { protocol, hostPort }: Omit<PublishedPort, 'port'>,
  address: string,
): Promise<boolean> {
  return new Promise((resolve) => {
    if (protocol === 'tcp') {
      const server = createServer()
      server.once('error', () => resolve(true))
      server.listen(hostPort, address, () => server.close(() => resolve(false)))
      return
    }
    const socket = createSocket('udp4')
    socket.once('error', () => resolve(true))
    socket.bind({ port: hostPort, address, exclusive: true }, () => socket.close(() => resolve(false)))
  })
}
