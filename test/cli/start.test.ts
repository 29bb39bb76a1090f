import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import manifest from '../../cli/package.json' with { type: 'json' }

test('the program starts as a process, and keeps what Node compiled in a folder of the customer’s own', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'berth-cli-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const program = path.resolve(import.meta.dirname, '../../cli', manifest.bin.berth)
  const env = { ...process.env, XDG_CACHE_HOME: home }
  expect(await promisify(execFile)(process.execPath, [program, '--version'], { env })).toEqual({
    stdout: `${manifest.version}\n`,
    stderr: '',
  })
  expect(readdirSync(path.join(home, 'berth/node'))).not.toEqual([])
})
