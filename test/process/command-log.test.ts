import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { folder, run, serve } from './harness/berthd.ts'

test('each command of an operator is in the system’s log, with its user, its object and its result', async () => {
  const data = folder()
  const written = path.join(data, 'syslog')
  // Stands where the system's own would: what it is given is what reaches the journal.
  writeFileSync(path.join(data, 'logger'), `#!/bin/sh\nprintf '%s\\n' "$@" >> '${written}'\n`)
  chmodSync(path.join(data, 'logger'), 0o755)
  const env = {
    BERTH_DATA: path.join(data, 'berth'),
    BERTH_COMPUTE: 'simulator',
    PATH: `${data}:${process.env.PATH}`,
    SUDO_USER: 'ann\n{"forged":true}',
  }
  const value = `berth_${'a'.repeat(49)}`
  await run(['account', 'create', 'bob@example.com'], env)
  await run(['account', 'suspend', 'bob@example.com', '--reason', 'the reason'], env)
  await run(['account', 'suspend', 'bob@example.com', '--reason', 'the reason'], env)
  await run(['token', 'revoke', value], env)
  await run(['catalog', 'check'], env)
  const text = readFileSync(written, 'utf8')
  expect(text).toContain('--tag\nberthd\n--priority\nauth.notice\n')
  for (const secret of [value, 'the reason']) expect(text).not.toContain(secret)
  const lines = text.split('\n').filter((line) => line.startsWith('{'))
  const said = lines.map((line): Record<string, unknown> => JSON.parse(line))
  const common = { log: 'security', event: 'operator_command', operator: 'ann\n{"forged":true}' }
  expect(said).toMatchObject([
    { ...common, command: 'berthd account create', arguments: ['bob@example.com'], outcome: 'succeeded' },
    { ...common, command: 'berthd account suspend', arguments: ['bob@example.com'], outcome: 'succeeded' },
    { ...common, command: 'berthd account suspend', outcome: 'failed' },
    { ...common, command: 'berthd token revoke', arguments: ['berth_…'], outcome: 'failed' },
    { ...common, command: 'berthd catalog check', arguments: [], outcome: 'succeeded' },
  ])
})

test('the service writes its security log to the journal, whatever the level of the log is', async () => {
  const data = folder()
  const service = await serve(data, { BERTH_LOG: 'silent' })
  const made = await run(
    ['token', 'create', 'demo@berth.local', '--cidr', '203.0.113.7', '--cidr', '10.0.0.0/8'],
    {
      BERTH_DATA: data,
    },
  )
  expect(made.code).toBe(0)
  const listed = await run(['token', 'list'], { BERTH_DATA: data })
  expect(listed.stdout).toContain('203.0.113.7/32 10.0.0.0/8')
  const refused = await run(['token', 'create', 'demo@berth.local', '--cidr', '10.0.0.1/8'], {
    BERTH_DATA: data,
  })
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('10.0.0.0/8') })
  const headers = { authorization: `Bearer ${made.stdout.trim()}` }
  const reply = await fetch(`${service.address}/servers`, { headers })
  expect(reply.status).toBe(403)
  const line = JSON.parse(await service.line((text) => text.includes('"log":"security"')))
  expect(line).toMatchObject({
    event: 'sign_in_failed',
    code: 'address_not_allowed',
    action: 'listServers',
    address: '127.0.0.1',
    request_id: reply.headers.get('x-request-id'),
  })
  expect(service.stdout).not.toContain(made.stdout.trim().slice(6, 30))
})
