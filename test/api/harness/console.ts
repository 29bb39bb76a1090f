import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { Console } from '../../../api/drivers/console.ts'
import type { TestApp } from '../../harness/app.ts'

export interface Opened {
  /** All that was shown. */
  shown(): string
  socket: WebSocket
  /** The code and reason of its end. */
  ended: Promise<string>
  type(text: string): void
}

/** Opens serial consoles over the loopback, as a client does. */
export async function consoles(t: TestApp) {
  const address = await t.app.http.listen({ host: '127.0.0.1', port: 0 })
  const connect = async (
    ticket: string,
    {
      headers = {},
      protocols = ['berth.console.v1', ticket],
    }: { headers?: Record<string, string>; protocols?: string[] } = {},
  ): Promise<Opened> => {
    const socket = new WebSocket(`${address.replace('http', 'ws')}/v1/console`, protocols, { headers })
    onTestFinished(() => socket.terminate())
    let shown = ''
    socket.on('message', (bytes: Buffer) => {
      shown += bytes.toString('latin1')
    })
    const ended = new Promise<string>((resolve) => {
      socket.once('close', (code, reason) => resolve(`${code} ${reason}`))
    })
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve).once('error', reject)
      socket.once('unexpected-response', (_request, reply) => {
        reply.setEncoding('utf8').once('data', (text: string) => {
          const { status, code } = JSON.parse(text)
          reject(new Error(`${status} ${code}`))
        })
      })
    })
    return { shown: () => shown, socket, ended, type: (text) => socket.send(text) }
  }
  const ask = async (serverId: string, token = t.token, kind = 'console'): Promise<string> => {
    const { status, body } = await t.callAs(token)('POST', `/servers/${serverId}/${kind}`, {})
    if (status !== 201) throw new Error(`${status} ${body.code}`)
    return body.ticket
  }
  const open = async (serverId: string, token?: string) => connect(await ask(serverId, token))
  const screen = async (serverId: string) => {
    const opened = await connect(await ask(serverId, t.token, 'screen'))
    return { ...opened, screen: screenOf(opened) }
  }
  return { address, ask, connect, open, screen }
}

/** A screen at the other end of a socket. */
function screenOf({ shown, socket }: Opened): Console {
  let position = 0
  let wake = () => {}
  socket.on('message', () => wake()).once('close', () => wake())
  return {
    read: async () => {
      while (shown().length === position) {
        if (socket.readyState === socket.CLOSED) return null
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      const bytes = Buffer.from(shown().slice(position), 'latin1')
      position += bytes.length
      return { bytes, skipped: 0 }
    },
    write: (bytes) => socket.send(bytes),
    close: () => socket.close(),
  }
}
