import { expect, test } from 'vitest'
import { Unreachable } from '../../../api/database/postgres-errors.ts'
import { type Reply, testApp } from '../../harness/app.ts'
import { ed25519 } from '../harness/keys.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

interface Described {
  responses: Record<string, { $ref?: string; content?: object }>
  requestBody?: { content: { 'application/json'?: { schema: { $ref: string } } } }
}

interface Document {
  paths: Record<string, Record<string, Described>>
  components: {
    schemas: Record<string, { examples: object[] }>
    responses: Record<string, { content: { 'application/problem+json': { examples: object } } }>
  }
}

const lastOf = (reference = '') => reference.split('/').at(-1) ?? ''

/** Loses the database after a number of statements: for one of them only, or for all that follow. */
class Outage {
  #isOver = true
  #left = 0
  #isLasting = false
  hasMet = false
  /** The number of statements since it began. */
  met = 0

  begin(statements: number, isLasting: boolean): void {
    this.hasMet = false
    this.met = 0
    this.#isOver = false
    this.#left = statements
    this.#isLasting = isLasting
  }

  end(): void {
    this.#isOver = true
  }

  readonly afterStatement = (): void => {
    if (this.#isOver) return
    this.met += 1
    this.#left -= 1
    if (this.#left >= 0) return
    this.hasMet = true
    if (!this.#isLasting) this.#isOver = true
    throw new Unreachable('connect ECONNREFUSED 10.0.0.1:5432')
  }
}

/** The faults of a reply: all that is not in the contract of its route. */
function faultsOf({ status, headers, body }: Reply, route: Described, { components }: Document): string[] {
  if (JSON.stringify(body).includes('10.0.0.1')) return ['shows the address of the database']
  if (status < 400) return []
  if (!headers['content-type']?.startsWith('application/problem+json')) return ['is no problem document']
  const { examples } =
    components.responses[lastOf(route.responses[String(status)]?.$ref)]?.content[
      'application/problem+json'
    ] ?? {}
  if (!Object.keys(examples ?? {}).includes(body.code)) return [`${status} ${body.code} is not documented`]
  if (status === 503 && !headers['retry-after']) return ['has no Retry-After']
  return body.request_id === headers['x-request-id'] ? [] : ['has no request id']
}

test('wherever in a request the database is lost, every route replies with a problem document of its own', async () => {
  const outage = new Outage()
  const t = await testApp({ afterStatement: outage.afterStatement })
  const document: Document = (await t.call('GET', '/openapi.json')).body
  const ids: Record<string, string> = {
    server_id: await make(t),
    project_id: (await t.call('POST', '/account/projects', { name: 'a' })).body.project_id,
    ssh_key_id: (await t.call('POST', '/account/ssh_keys', { name: 'a', public_key: ed25519() })).body
      .ssh_key_id,
  }
  const orders: Record<string, object> = { '/servers': await order(t.call, { delete_protection: true }) }
  // One more is refused by what its handler finds, after its key was claimed.
  await t.db.updateTable('accounts').set({ quotas: '{"projects":1}' }).execute()
  const weak = t.callAs(await t.makeToken(['account:read']))
  const wrong: unknown[] = []
  const statuses = new Map<number, number>()
  let requests = 0
  for (const [path, methods] of Object.entries(document.paths))
    for (const [name, route] of Object.entries(methods)) {
      const method = name.toUpperCase() as Method // these are all methods of the document
      const url = path.replaceAll(/\{(\w+)\}/g, (_, id) => ids[id] ?? NOBODY)
      const schema = lastOf(route.requestBody?.content['application/json']?.schema.$ref)
      const body =
        method === 'GET' ? undefined : (orders[path] ?? document.components.schemas[schema]?.examples[0])
      const isStream = route.responses[200]?.content && 'text/event-stream' in route.responses[200].content
      for (const call of [t.call, weak])
        for (const isLasting of [true, false])
          for (let statements = 0; ; statements += 1) {
            // A stream that nothing breaks has no end.
            if (isStream && statements > 0) break
            requests += 1
            outage.begin(statements, isLasting)
            const reply = await call(method, url, body, { 'idempotency-key': `${requests}` })
            outage.end()
            statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
            const faults = faultsOf(reply, route, document)
            if (faults.length > 0) wrong.push([`${method} ${path}`, statements, isLasting, ...faults])
            if (!outage.hasMet) break
          }
    }
  expect(wrong).toEqual([])
  expect(statuses.get(503)).toBeGreaterThan(2 * Object.keys(document.paths).length)
})

test('a key that the lost database kept taken is settled as soon as the database is back', async () => {
  const outage = new Outage()
  const t = await testApp({ afterStatement: outage.afterStatement })
  const send = (key: string) => t.call('POST', '/account/projects', { name: 'a' }, { 'idempotency-key': key })
  /** Sends a request during which the database is lost after some statements; the first ones must succeed. */
  const lose = async (key: string, statements: number) => {
    outage.begin(statements, true)
    const reply = await send(key)
    outage.end()
    return [reply.status, outage.hasMet]
  }
  const settled = async (key: string) => {
    t.clock.advance(1_000)
    let reply: Reply | undefined
    await expect
      .poll(async () => {
        reply = await send(key)
        return String(reply.body.code)
      })
      .not.toBe('idempotency_key_in_use')
    return [reply?.status, reply?.headers['idempotency-replayed']]
  }
  // The first request of a token writes more than the others.
  await send('first')
  outage.begin(1_000, true)
  await send('second')
  outage.end()
  const last = outage.met - 1

  expect(await lose('success', last)).toEqual([503, true])
  expect(await settled('success')).toEqual([201, 'true'])
  // After the claim, of which the database did not say whether it was made.
  for (let statements = 0; statements < last; statements += 1) {
    expect(await lose(`early ${statements}`, statements)).toEqual([503, true])
    expect(await settled(`early ${statements}`)).toEqual([201, undefined])
  }
})
