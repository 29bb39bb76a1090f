import { type Agent, request } from 'node:http'

export type Caller = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<{ status: number; text: string }>

/** Calls the API with a token, over an agent's connections. */
export function callerOf(port: number, token: string, agent: Agent): Caller {
  return (method, path, body, more = {}) =>
    new Promise((resolve, reject) => {
      const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
      const headers = {
        authorization: `Bearer ${token}`,
        ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...more,
      }
      const sent = request(
        { port, host: '127.0.0.1', path: `/v1${path}`, method, agent, headers },
        (reply) => {
          let received = ''
          reply.setEncoding('utf8').on('data', (part) => {
            received += part
          })
          reply.on('end', () => resolve({ status: reply.statusCode ?? 0, text: received }))
          reply.on('error', reject)
        },
      )
      sent.on('error', reject)
      sent.end(text)
    })
}
