import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { liar } from '../cli/harness/liar.ts'
import { Service } from './harness/service.ts'

const service = new Service()
const main = path.resolve(import.meta.dirname, '../../cli/main.ts')
let identity = ''

beforeAll(async () => {
  await service.prepare()
  await service.start()
  identity = (await service.addKey()).identity
})

afterAll(() => service.dispose())

/** Runs the program as a customer does, with a home of its own. */
async function berth(args: string[], url = service.address) {
  const env = {
    ...process.env,
    BERTH_URL: url,
    BERTH_TOKEN: service.token,
    HOME: service.dataDir,
    XDG_CONFIG_HOME: service.dataDir,
  }
  const run = promisify(execFile)(process.execPath, [main, ...args], { env, timeout: 240_000 })
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    // What execFile fails with where the program ended otherwise than with 0.
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

test('a server is ordered and logged in to by its name, and by its own host key alone', async () => {
  const order = ['--template', 'micro', '--preset', 'nano', '--ssh-key', 'e2e']
  expect(await berth(['server', 'create', 'web-1', ...order])).toMatchObject({ code: 0 })
  // It still boots: ssh waits.
  const ssh = ['server', 'ssh', 'web-1', '-i', identity, '--']
  expect(await berth([...ssh, 'uname', '-a'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Linux web-1 /),
  })
  expect(await berth([...ssh, 'exit 42'])).toMatchObject({ code: 42 })

  const wrong = await liar(service.address, ({ ssh: { host_key_fingerprints: keys } }) => {
    // The same kind of key, with other numbers.
    for (const key of keys) key.public_key = key.public_key.replace(/.{4}$/, 'AAAA')
  })
  const refused = await berth([...ssh, 'uname'], wrong)
  expect(refused).toMatchObject({ code: 255, stdout: '' })
  expect(refused.stderr).toContain('Host key verification failed.')
})
