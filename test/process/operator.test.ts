import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { berthd, folder, order, run, serve } from './harness/berthd.ts'
import { listening } from './harness/child.ts'

const TIMEOUT_MS = 240_000

test(
  'an operator finds the server of a port, and stops, starts and deletes it while the service runs',
  async () => {
    const data = folder()
    const service = await serve(data)
    const env = { BERTH_DATA: data }
    const made = (await service.call('POST', '/servers', { ...(await order(service)), name: 'web-1' })).body
    const status = async () => (await service.call('GET', `/servers/${made.server_id}`)).body.status
    await expect.poll(status, { timeout: 30_000 }).toBe('running')
    const { port } = (await service.call('GET', `/servers/${made.server_id}/details`)).body.ssh
    const listed = await run(['server', 'list', '--ssh-port', String(port)], env)
    expect(listed.stdout.split('\n')[1]).toMatch(
      new RegExp(`^${made.server_id} +web-1 +demo@berth.local +running +local-1 +127.0.0.1:${port}$`),
    )
    expect((await run(['server', 'list', '--ssh-port', '1'], env)).stdout.split('\n')).toHaveLength(2)
    const stopped = await run(['server', 'stop', 'web-1'], env)
    expect(stopped).toMatchObject({ code: 0, stdout: expect.stringContaining('within 5 seconds') })
    await expect.poll(status, { timeout: 15_000 }).toBe('stopped')
    expect(await run(['server', 'stop', 'web-1'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The server is stopped; stop requires it to be running or error.'),
    })
    await run(['server', 'start', made.server_id], env)
    await expect.poll(status, { timeout: 15_000 }).toBe('running')
    const { items } = (await service.call('GET', '/account/audit')).body
    expect(items.map(({ action }: { action: string }) => action)).toEqual([
      'berthd server start',
      'berthd server stop',
      'createServer',
    ])
    // What a dead service would have begun, its next start does.
    service.process.kill('SIGTERM')
    await service.ended
    const deleted = await run(['server', 'delete', 'web-1'], env)
    expect(deleted.stdout).toContain('at its next start')
    const next = await serve(data)
    const gone = async () => (await next.call('GET', `/servers/${made.server_id}`)).status
    await expect.poll(gone, { timeout: 15_000 }).toBe(404)
  },
  TIMEOUT_MS,
)

test(
  'an operator suspends, resumes, limits and closes an account while the service runs',
  async () => {
    const data = folder()
    const service = await serve(data)
    const env = { BERTH_DATA: data, SUDO_USER: 'alice' }
    const body = await order(service)
    const { server_id } = (await service.call('POST', '/servers', body)).body
    const status = async () => (await service.call('GET', `/servers/${server_id}`)).body.status
    await expect.poll(status, { timeout: 30_000 }).toBe('running')
    const account = (verb: string, ...more: string[]) =>
      run(['account', verb, 'demo@berth.local', ...more, '--reason', 'a test'], env)
    expect((await account('suspend')).stdout).toBe('demo@berth.local is suspended.\n')
    expect((await service.call('POST', '/servers', body)).body.code).toBe('account_suspended')
    await expect.poll(status, { timeout: 20_000 }).toBe('suspended')
    expect(await account('suspend')).toMatchObject({
      code: 1,
      stderr: 'Nothing changed: demo@berth.local is suspended.\n',
    })
    await account('resume')
    await expect.poll(status, { timeout: 20_000 }).toBe('running')
    expect((await account('quota', 'servers=1')).stdout).toMatch(/^servers: +1$/m)
    expect((await service.call('POST', '/servers', body)).body.code).toBe('quota_exceeded')
    expect((await account('close')).stderr).toContain('has 1 servers. Delete them first')
    expect((await account('close', '--delete-servers')).stdout).toContain('being deleted: 1.')
    await expect.poll(status, { timeout: 20_000 }).toBe(404)
    const { items } = (await service.call('GET', '/account/audit')).body
    expect(items[0]).toMatchObject({ action: 'berthd account close, by alice', object_type: 'account' })
  },
  TIMEOUT_MS,
)

test(
  'a token is revoked by its name, its id or itself, and a name of several names them instead',
  async () => {
    const env = { BERTH_DATA: folder() }
    for (const email of ['ann@example.com', 'bob@example.com']) await run(['account', 'create', email], env)
    const create = (email: string, name: string) => run(['token', 'create', email, '--name', name], env)
    await create('ann@example.com', 'ci')
    await create('bob@example.com', 'ci')
    const { stdout: value } = await create('bob@example.com', 'laptop')
    expect(await run(['token', 'revoke', 'ci'], env)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^Several tokens have the name ci\. Give the id of one: .* of ann@example\.com/,
      ),
    })
    expect((await run(['token', 'revoke', 'ci', '--account', 'ann@example.com'], env)).code).toBe(0)
    expect((await run(['token', 'revoke', 'ci'], env)).code).toBe(0)
    expect((await run(['token', 'revoke', value.trim()], env)).code).toBe(0)
    const again = await run(['token', 'revoke', value.trim()], env)
    expect(again.stderr).toBe('No such valid token: the one given. List them with: berthd token list\n')
    expect((await run(['token', 'list'], env)).stdout).not.toContain('example.com')
    expect((await run(['account', 'show', 'bob@example.com'], env)).stdout).toMatch(/^status: +active$/m)
  },
  TIMEOUT_MS,
)

test(
  'where the operator made an account, no demo account is',
  async () => {
    const data = folder()
    await run(['account', 'create', 'ann@example.com'], { BERTH_DATA: data })
    const service = berthd(['serve'], { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', PORT: '0' })
    expect(await listening(service)).toMatchObject({ account: null, token_file: null })
    service.process.kill('SIGTERM')
    await service.ended
    expect(existsSync(path.join(data, 'demo-token'))).toBe(false)
    expect((await run(['account', 'list'], { BERTH_DATA: data })).stdout).not.toContain('demo@berth.local')
  },
  TIMEOUT_MS,
)
