import { expect } from 'vitest'
import { type Reply, type TestApp, testApp } from '../../harness/app.ts'
import { differences, members } from './shapes.ts'

type Ask = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => Promise<Reply>

export interface HcloudApp extends TestApp {
  /** Calls /hcloud/v1, and checks the fields of the reply. */
  ask: Ask
  /** Calls it, carries out all that is due, and returns the body of the reply. */
  act(...request: Parameters<Ask>): Promise<Reply['body']>
  askAs(token: string): Ask
}

/** A service with /hcloud/v1, and a token for it that sees the default project. */
export async function hcloudApp(options: Parameters<typeof testApp>[0] = {}): Promise<HcloudApp> {
  const t = await testApp({ hasHcloud: true, ...options })
  const askAs = (token: string): Ask => asker(t, token)
  const ask = askAs(await hcloudToken(t))
  const act: HcloudApp['act'] = async (...request) => {
    const reply = await ask(...request)
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(300)
    await t.finish()
    return reply.body
  }
  return { ...t, ask, act, askAs }
}

export async function hcloudToken(t: TestApp, more: object = {}): Promise<string> {
  const wanted = { name: 'terraform', kind: 'hcloud', scopes: ['read', 'write'], ...more }
  return (await t.call('POST', '/account/tokens', wanted)).body.token
}

function asker({ app }: TestApp, token: string): Ask {
  return async (method, path, body) => {
    const {
      statusCode,
      body: text,
      headers,
    } = await app.http.inject({
      ...{ method, url: `/hcloud/v1${path}` },
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { payload: JSON.stringify(body) } : {}),
    })
    const reply = text === '' ? null : JSON.parse(text)
    const wrong = Object.entries(reply ?? {}).flatMap(([name, value]) => {
      const shape = members[name]
      return shape ? differences(shape, value, name) : [`${name} is not known`]
    })
    expect(wrong, `${method} ${path}`).toEqual([])
    const named = Object.entries(headers).map(([name, value]) => [name, value?.toString()] as const)
    return { status: statusCode, body: reply, headers: Object.fromEntries(named) }
  }
}
