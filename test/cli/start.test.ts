import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import manifest from '../../cli/package.json' with { type: 'json' }

const program = path.resolve(import.meta.dirname, '../../cli', manifest.bin.berth)

test('the program starts as a process, and keeps Node’s compile cache in the customer’s own folder', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'berth-cli-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  // The tests' own cache would come before it.
  const env = { ...process.env, XDG_CACHE_HOME: home, NODE_COMPILE_CACHE: undefined }
  expect(await promisify(execFile)(process.execPath, [program, '--version'], { env })).toEqual({
    stdout: `${manifest.version}\n`,
    stderr: '',
  })
  expect(readdirSync(path.join(home, 'berth/node'))).not.toEqual([])
})

test.each([
  ['a full disk', 'context list > /dev/full', 1],
  ['a reader that has seen enough', 'context list | true', 0],
  ['a reader of errors that has seen enough', 'xyzzy 2>&1 | true', 2],
])('%s has its exit code, and no stack', async (_, line, code) => {
  const home = mkdtempSync(path.join(tmpdir(), 'berth-cli-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const [command = '', ...rest] = line.split(/(?= 2>| >| \|)/)
  const script = `{ "$0" "${program}" ${command}; echo "ended with $?" >&3; } ${rest.join('')}`
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home }
  const { stdout, stderr } = await promisify(execFile)(
    'sh',
    ['-c', `{ ${script}; } 3>&1`, process.execPath],
    {
      env,
    },
  )
  expect(stdout).toBe(`ended with ${code}\n`)
  expect(stderr).not.toContain('    at ')
})
