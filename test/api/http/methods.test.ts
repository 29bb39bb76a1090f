import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { make, NOBODY } from '../harness/ordering.ts'

/** Each path of the description, and the methods that it takes. */
async function everyPath(t: Awaited<ReturnType<typeof testApp>>) {
  const { paths } = (await t.callAs(null)('GET', '/openapi.json')).body
  const described = Object.entries(paths).map(([path, methods]): [string, string[]] => [
    path.replace(/\{\w+\}/g, NOBODY),
    Object.keys(methods as object).map((name) => name.toUpperCase()), // a path of openapi.json has methods
  ])
  return [...described, ['/docs', ['GET']], ['/openapi.json', ['GET']]] satisfies [string, string[]][]
}

test('each path answers a method that it does not take with 405 and those that it takes, OPTIONS too', async () => {
  const t = await testApp()
  for (const [path, methods] of await everyPath(t)) {
    // The replies to GET are documented for HEAD as well.
    const others = ['PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS', ...(methods.includes('GET') ? [] : ['HEAD'])]
    for (const method of others.filter((name) => !methods.includes(name))) {
      const reply = await t.app.http.inject({ method: method as 'PUT', url: `/v1${path}` }) // or another of the list
      expect([method, path, reply.statusCode, reply.headers.allow]).toEqual([
        method,
        path,
        405,
        methods.join(', ').replace('GET', 'GET, HEAD'),
      ])
      expect(reply.headers['content-type']).toMatch(/^application\/problem\+json/)
    }
  }
})

test('HEAD says of each path what GET would, without the body', async () => {
  const t = await testApp()
  const id = await make(t)
  const headers = { authorization: `Bearer ${await t.makeToken(['read'])}` }
  const query = '?zone_slug=local-1&cpu_type=amd'
  // These two are of the moment and of the request: everything else has to be the same.
  const lasting = ({ date: _, 'x-request-id': __, ratelimit: ___, ...rest }: Record<string, unknown>) => rest
  for (const [path, methods] of await everyPath(t)) {
    // It has no end; stream.test.ts reads it.
    if (!methods.includes('GET') || path === '/events/stream') continue
    const ask = (method: 'GET' | 'HEAD', more: object) =>
      t.app.http.inject({ method, url: `/v1${path.replace(NOBODY, id)}${query}`, ...more })
    for (const more of [{ headers }, {}]) {
      const [get, head] = [await ask('GET', more), await ask('HEAD', more)]
      expect([path, head.statusCode, head.body]).toEqual([path, get.statusCode, ''])
      expect([path, lasting(head.headers)]).toEqual([path, lasting(get.headers)])
    }
  }
})
