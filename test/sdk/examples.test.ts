import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { delivering, LOOPBACK } from '../api/harness/endpoint.ts'
import { claimPort } from '../harness/ports.ts'
import { meanwhile, service } from './harness/client.ts'

const sdk = path.resolve(import.meta.dirname, '../../sdk')
const readme = readFileSync(path.join(sdk, 'README.md'), 'utf8')

/** Each program of README with what it says that the program prints. */
const shown = [...readme.matchAll(/^```ts\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)^```/gm)].map(
  ([, program = '', output = '']) => ({ program, output }),
)
const examples = readdirSync(path.join(sdk, 'examples')).map((name) => ({
  name,
  text: readFileSync(path.join(sdk, 'examples', name), 'utf8'),
}))

test('README shows every example as it is, and no other', () => {
  const programs = [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, program]) => program)
  expect(programs.sort()).toEqual(examples.map(({ text }) => text).sort())
  expect(shown).toHaveLength(examples.length)
})

test('the examples, one after the other, print what README says', async () => {
  const t = await service({ sshPorts: { first: 22741, last: 22741 }, webhookAllow: LOOPBACK })
  // Messages are signed with the service's time, which the receiver compares with its own.
  t.clock.advance(Date.now() - t.clock.now())
  const port = await claimPort()
  const hook = { HOOK_PORT: String(port), HOOK_URL: `http://127.0.0.1:${port}/` }
  const env = { ...process.env, BERTH_URL: t.baseUrl, BERTH_TOKEN: t.token, ...hook }
  for (const { program, output } of shown) {
    const name = examples.find(({ text }) => text === program)?.name ?? ''
    const running = promisify(execFile)(process.execPath, [path.join(sdk, 'examples', name)], { env })
    expect((await delivering(t, meanwhile(t, running))).stdout, name).toBe(output)
  }
})
