import { Duplex } from 'node:stream'
import pg from 'pg'
import { expect, test } from 'vitest'
import { explained, Unreachable } from './postgres-errors.ts'

/** A connection that is open, and on which nothing arrives. */
function silent(): Duplex {
  const stream = new Duplex({ read: () => {}, write: (_, __, done) => done() })
  return Object.assign(stream, { setNoDelay: () => {}, connect: () => stream.emit('connect') })
}

test('a database that accepts a connection and does not answer counts as unreachable', async () => {
  const client = new pg.Client({ host: 'localhost', connectionTimeoutMillis: 1, stream: silent })
  const error = await client.connect().catch(explained)
  expect(error).toBeInstanceOf(Unreachable)
  expect(error).toMatchObject({ code: '08006', message: 'timeout expired' })
})
