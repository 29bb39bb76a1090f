import { expect, test } from 'vitest'
import { folder, order, run, serve } from './harness/berthd.ts'

test('an operator moves a stopped server to another account while the service runs', async () => {
  const data = folder()
  const service = await serve(data)
  const env = { BERTH_DATA: data, SUDO_USER: 'alice' }
  const made = (await service.call('POST', '/servers', { ...(await order(service)), name: 'web-1' })).body
  const status = async () => (await service.call('GET', `/servers/${made.server_id}`)).body?.status
  await expect.poll(status, { timeout: 60_000 }).toBe('running')
  await run(['account', 'create', 'bob@example.com'], env)
  await run(['account', 'credit', 'bob@example.com', '500', '--reason', 'invoice 17'], env)
  const move = (...more: string[]) =>
    run(['server', 'move', 'web-1', '--reason', 'sold to its user', ...more], env)
  expect((await move()).code).toBe(2)
  expect((await move('--account', 'nobody@example.com')).code).toBe(2)
  expect(await move('--account', 'bob@example.com')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('a move requires it to be stopped'),
  })
  await run(['server', 'stop', 'web-1', '--force'], env)
  await expect.poll(status, { timeout: 60_000 }).toBe('stopped')
  expect(await move('--account', 'bob@example.com')).toMatchObject({
    code: 0,
    stdout: 'web-1 has moved from demo@berth.local to bob@example.com, which pays for it from now on.\n',
  })
  expect((await service.call('GET', `/servers/${made.server_id}`)).status).toBe(404)
  expect((await run(['server', 'show', 'web-1'], env)).stdout).toContain('bob@example.com')
  for (const account of ['demo@berth.local', 'bob@example.com'])
    expect((await run(['account', 'audit', account], env)).stdout).toContain(
      'berthd server move: sold to its user, by alice',
    )
}, 900_000)
