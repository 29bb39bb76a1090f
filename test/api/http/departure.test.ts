import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { testApp } from '../../harness/app.ts'

/** A client that sends something, and keeps its side of the connection open whatever happens. */
function ask(port: number, ...lines: string[]): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  return new Promise((resolve) => socket.once('data', (bytes) => resolve(String(bytes))))
}

const UPGRADE = ['host: x', 'connection: upgrade', 'upgrade: websocket']

test('a client that never closes its side of a refused WebSocket holds up no stop', async () => {
  const t = await testApp()
  const { port } = new URL(await t.app.http.listen({ host: '127.0.0.1', port: 0 }))
  expect(await ask(Number(port), 'GET /v1/console HTTP/1.1', ...UPGRADE)).toMatch(/^HTTP\/1\.1 400 /)
  await t.app.close()
})
