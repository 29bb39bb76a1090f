import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, cpSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folder } from './harness/berthd.ts'

/** An npm that writes down that it began, and how it was ended. */
const NPM = `#!/bin/sh
trap 'echo > ended; exit 1' INT TERM
echo > begun
for i in $(seq 600); do sleep 0.1; done
`

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('a first start that is stopped by %s leaves no npm behind', async (signal, code) => {
  const checkout = folder()
  copyFileSync('setup.mjs', path.join(checkout, 'setup.mjs'))
  writeFileSync(path.join(checkout, 'npm'), NPM, { mode: 0o755 })
  const setup = spawn(process.execPath, [path.join(checkout, 'setup.mjs')], {
    env: { PATH: `${checkout}:/usr/bin:/bin`, BERTH_COMPUTE: 'simulator' },
    stdio: 'ignore',
  })
  onTestFinished(() => void setup.kill('SIGKILL'))
  const ended = once(setup, 'exit')
  await expect.poll(() => existsSync(path.join(checkout, 'begun'))).toBe(true)
  setup.kill(signal)
  expect(await ended).toEqual([code, null])
  expect(existsSync(path.join(checkout, 'ended'))).toBe(true)
})

test.runIf(process.getuid?.() === 0)(
  'root is told how to open a clone that was made with a strict umask',
  () => {
    const clone = folder()
    chmodSync(clone, 0o700)
    for (const part of ['package.json', 'test/run.ts', 'test/harness'])
      cpSync(part, path.join(clone, part), { recursive: true })
    const { status, stderr } = spawnSync(process.execPath, [path.join(clone, 'test/run.ts')], {
      encoding: 'utf8',
    })
    expect([status, stderr.trim()]).toEqual([1, expect.stringMatching(/Run: chmod -R go\+rX \/\S+$/)])
  },
)
