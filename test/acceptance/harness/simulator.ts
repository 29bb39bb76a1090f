import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestProject } from 'vitest/node'

const root = path.resolve(import.meta.dirname, '../../..')
const PATIENCE_MS = 60_000
const FLAGS = [
  ...['--port', '0', '--compute', 'simulator', '--sample-seconds', '1'],
  ...['--rate-limits', '1000000,1000000,1000000'],
]

/** A real service on simulated machines for the suite; none where the surroundings name one already. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (process.env.BERTH_URL) return
  const dataDir = mkdtempSync(path.join(tmpdir(), 'berth-acceptance-'))
  const child = spawn(process.execPath, ['api/main.ts', 'serve', '--data', dataDir, ...FLAGS], {
    cwd: root,
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let said = ''
  await new Promise<void>((resolve, reject) => {
    const fail = () => reject(new Error(`The service for the acceptance suite did not come up: ${said}`))
    const timer = setTimeout(fail, PATIENCE_MS)
    const listen = (text: Buffer) => {
      said += text
      if (!said.includes('"msg":"listening"')) return
      clearTimeout(timer)
      resolve()
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    void gone.then(fail)
  })
  project.provide('berthUrl', /"address":"([^"]+)"/.exec(said)?.[1] ?? '')
  project.provide('berthToken', readFileSync(path.join(dataDir, 'demo-token'), 'utf8').trim())
  return async () => {
    child.kill('SIGTERM')
    await gone
    rmSync(dataDir, { recursive: true, force: true })
  }
}
