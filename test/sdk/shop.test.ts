import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { makeOperatorToken } from '../api/operator/harness/shop.ts'
import { meanwhile, service } from './harness/client.ts'

const root = path.resolve(import.meta.dirname, '../..')

test('the shop of docs/integrating.md opens, sells, signs in, suspends and closes with an operator’s token alone', async () => {
  const page = readFileSync(path.join(root, 'docs/integrating.md'), 'utf8')
  const [, program = ''] = /^```ts\n([\s\S]*?)^```/m.exec(page) ?? []
  expect(program.split('\n').length).toBeLessThanOrEqual(70)
  const t = await service({ sshPorts: { first: 22742, last: 22742 } })
  const { value } = await makeOperatorToken(t, ['operator:read', 'operator:write', 'operator:money'])
  const env = { ...process.env, BERTH_URL: t.baseUrl, BERTH_OPERATOR_TOKEN: value, BERTH_TOKEN: undefined }
  const words = ['--input-type=module-typescript', '--eval', program]
  const running = promisify(execFile)(process.execPath, words, { env, cwd: path.join(root, 'sdk') })
  expect((await meanwhile(t, running)).stdout.split('\n')).toEqual([
    'opened: true',
    'ready: running, ssh berth@127.0.0.1',
    'control panel: /sign-in',
    'rescue: true',
    'suspended: Invoice 17 is not paid',
    'resumed: running',
    'account: closed',
    '',
  ])
})
