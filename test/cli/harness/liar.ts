import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { ServerDetails } from '../../../sdk/index.ts'

/** A proxy of an API that falsifies the details of servers. */
export async function liar(baseUrl: string, lie: (details: ServerDetails) => void): Promise<string> {
  const server = createServer(async (request, response) => {
    const { authorization = '' } = request.headers
    const reply = await fetch(new URL(request.url ?? '', baseUrl), { headers: { authorization } })
    const body = await reply.json()
    // The route's reply.
    if (request.url?.endsWith('/details')) lie(body as ServerDetails)
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  // The server listens on TCP, so the address is not a path.
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/v1`
}
