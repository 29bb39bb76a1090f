import { expect, test } from 'vitest'
import { OperationFailed } from '../../sdk/index.ts'
import { signUp } from '../api/harness/browser.ts'
import { meanwhile, service } from './harness/client.ts'

test('waiting reports progress from the first moment to the end', async () => {
  const t = await service({ simulator: { imageMs: 5_000, bootMs: 5_000 } })
  const server = await t.berth.servers.create(await t.order())
  const seen: number[] = []
  await meanwhile(t, t.berth.operations.wait(server, { onProgress: ({ progress }) => seen.push(progress) }))
  expect([seen.at(0), seen.at(-1)]).toEqual([0, 100])
  expect(seen).toEqual([...seen].sort((a, b) => a - b))
})

test('an operation that fails is an error that says why, with the operation', async () => {
  const t = await service()
  const server = await t.berth.servers.create(await t.order())
  t.clock.advance(2 * 3600_000)
  const error = await meanwhile(t, t.berth.operations.wait(server)).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(OperationFailed)
  expect(error).toMatchObject({
    code: 'operation_timeout',
    operation: { type: 'create', status: 'failed', server_id: server.server_id },
    message: expect.stringMatching(/^The operation "create" failed: .+ \(operation_timeout\)$/),
  })
})

test('an operation whose place another took is an error too', async () => {
  const t = await service()
  const { server_id } = await t.make()
  const stopping = await t.berth.servers.stop(server_id)
  await t.berth.servers.delete(server_id)
  const error = await t.berth.operations.wait(stopping).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ name: 'OperationFailed', code: 'canceled' })
})

test('to wait for a server on which nothing is carried out is to be told how its last operation ended', async () => {
  const t = await service()
  expect(await t.berth.operations.wait(await t.make())).toMatchObject({ type: 'create', status: 'succeeded' })
})

test('a device login is asked for as often as the service allows, until somebody decides', async () => {
  const t = await service()
  const ann = await signUp(t, 'ann@example.com')
  const decide = async (decision: string) => {
    const started = await t.berth.deviceLogins.start({ client_name: 'tool' })
    const pauses: number[] = []
    const sleep = async (ms: number) => {
      // Its clock is slow: it asks before the service expects it.
      t.clock.advance(pauses.length === 1 ? 1_000 : ms)
      if (pauses.push(ms) === 4)
        await ann.call('POST', `/device/${decision}`, {
          user_code: started.user_code,
          ...(decision === 'approve' ? { account_id: ann.person.account_id } : {}),
        })
    }
    const token = await t
      .client({ sleep })
      .deviceLogins.wait(started)
      .catch((error: unknown) => error)
    return { pauses, token }
  }
  expect(await decide('approve')).toMatchObject({
    pauses: [5_000, 5_000, 10_000, 10_000],
    token: { name: 'tool', person_id: ann.person.person_id },
  })
  expect(await decide('deny')).toMatchObject({ token: { code: 'access_denied' } })
})

test('waiting ends when the caller has enough of it', async () => {
  const t = await service()
  const server = await t.berth.servers.create(await t.order())
  const caller = new AbortController()
  const waiting = t.berth.operations.wait(server, {
    signal: caller.signal,
    onProgress: () => caller.abort(new Error('enough')),
  })
  await expect(waiting).rejects.toThrow('enough')
})
