import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../harness/postgres.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const PATIENCE_MS = 180_000
const FLAGS = [
  ...['--port', '0', '--compute', 'simulator', '--sample-seconds', '1'],
  ...['--rate-limits', '1000000,1000000,1000000'],
]

/**
 * A real service on simulated machines for the suite, on PostgreSQL with BERTH_TEST_DATABASE=postgres; none where the
 * surroundings name one already.
 */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (process.env.BERTH_URL) return
  const dataDir = mkdtempSync(path.join(tmpdir(), 'berth-acceptance-'))
  const isOnPostgres = process.env.BERTH_TEST_DATABASE === 'postgres'
  const postgres = isOnPostgres ? await startPostgres() : null
  const env = {
    ...process.env,
    NODE_NO_WARNINGS: '1',
    ...(postgres && { DATABASE_URL: await postgres.create('berth') }),
  }
  const token = postgres && (await openAccount(dataDir, env))
  const child = spawn(process.execPath, ['api/main.ts', 'serve', '--data', dataDir, ...FLAGS], {
    cwd: root,
    env,
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
  project.provide('berthToken', token ?? readFileSync(path.join(dataDir, 'demo-token'), 'utf8').trim())
  return async () => {
    child.kill('SIGTERM')
    await gone
    await postgres?.remove()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Creates the demo account as an operator would. @returns a token of the account */
async function openAccount(dataDir: string, env: NodeJS.ProcessEnv): Promise<string> {
  const email = 'demo@berth.local'
  const berthd = async (...args: string[]) => {
    const all = ['api/main.ts', ...args, '--data', dataDir]
    return (await promisify(execFile)(process.execPath, all, { cwd: root, env })).stdout
  }
  await berthd('account', 'create', email, '--name', 'Demo')
  await berthd('account', 'credit', email, '10000', '--reason', 'test')
  return /berth_\w+/.exec(await berthd('token', 'create', email))?.[0] ?? ''
}
