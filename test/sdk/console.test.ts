import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { Berth, ConnectionError, isBerthError, type ServerConsole } from '../../sdk/index.ts'
import { service } from './harness/client.ts'
import { listen } from './harness/listener.ts'

/** Reads until it has been shown. */
async function shown(console: ServerConsole, text: string): Promise<string> {
  let all = ''
  const decoder = new TextDecoder()
  for await (const bytes of console) {
    all += decoder.decode(bytes, { stream: true })
    if (all.includes(text)) break
  }
  return all
}

test.each([
  ['the WebSocket of the runtime', {}],
  ['that of the ws package', { WebSocket }],
])('a console is read and written to, by %s', async (_, options) => {
  const t = await service()
  const { server_id } = await t.make('web-1')
  const console = await t.berth.servers.console(server_id, options)
  console.write('echo hé')
  console.write(new Uint8Array([13]))
  expect(await shown(console, '\nhé\r\n')).toContain('Simulated Linux on web-1')
  // A reader that stops has closed the stream.
  expect(console.ending).toBeNull()
  console.write('nothing')
})

test('a console says why it has ended, and a signal closes it', async () => {
  const t = await service()
  const { server_id } = await t.make()
  const hurry = new AbortController()
  const [ended, aborted] = [
    await t.berth.servers.console(server_id),
    await t.berth.servers.console(server_id, { signal: hurry.signal }),
  ]
  await Promise.all([shown(aborted, 'never'), hurry.abort()])
  expect(aborted.ending).toBeNull()
  await t.app.consoles.stop()
  await shown(ended, 'never')
  expect(ended.ending).toBe('service_stopping')
})

test('a missing console is refused like any call, and a reply without WebSocket as a failed connection', async () => {
  const t = await service()
  const { server_id } = await t.make()
  await t.berth.servers.stop(server_id, { force: true })
  await t.finish()
  const refused = await t.berth.servers.console(server_id).catch((error: unknown) => error)
  expect(isBerthError(refused, 'server_state_conflict') && refused.problem.current_status).toBe('stopped')
  const baseUrl = await listen((_request, reply) => {
    reply.writeHead(201, { 'content-type': 'application/json' })
    reply.end(JSON.stringify({ url: '/v1/console', ticket: 'ticket_x', expires_at: '' }))
  })
  const berth = new Berth({ baseUrl, token: 't', retries: 0 })
  for (const options of [{}, { WebSocket }])
    await expect(berth.servers.console(server_id, options)).rejects.toThrow(ConnectionError)
})
