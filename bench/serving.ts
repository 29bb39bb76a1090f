import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { World } from './filled.ts'
import { load } from './load.ts'

export const CONNECTIONS = 64

/** Starts real processes that answer requests, and on request one more for the background work. */
export async function serving<Result>(
  { folder, url }: Pick<World, 'folder' | 'url'>,
  { apis, workers = 0 }: { apis: number; workers?: number },
  run: (ports: number[], pids: number[]) => Promise<Result>,
): Promise<Result> {
  const children: ChildProcess[] = []
  try {
    const ports: number[] = []
    for (let at = 0; at < apis + workers; at += 1) {
      const data = path.join(folder, String(at))
      mkdirSync(data, { recursive: true })
      if (at > 0) copyFileSync(path.join(folder, '0', 'secret.key'), path.join(data, 'secret.key'))
      const limits = '100000000,100000000,100000000'
      const env = { ...process.env, DATABASE_URL: url, BERTH_DATA: data, BERTH_RATE_LIMITS: limits }
      const more = {
        BERTH_ROLE: at < apis ? 'api' : 'worker',
        BERTH_COMPUTE: 'simulator',
        PORT: '0',
        BERTH_LOG: 'silent',
        NODE_NO_WARNINGS: '1',
        BERTH_SSH_PORTS: '1024-65535',
        BERTH_CATALOG: path.join(folder, 'catalog.yaml'),
      }
      const child = spawn(process.execPath, ['api/main.ts', 'serve'], {
        env: { ...env, ...more },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.push(child)
      for await (const line of createInterface({ input: child.stdout }))
        if (line.includes('"msg":"listening"')) {
          ports.push(Number(new URL(JSON.parse(line).address).port))
          break
        }
      if (ports.length <= at) throw new Error('a process did not start')
    }
    return await run(
      ports,
      children.map(({ pid = 0 }) => pid),
    )
  } finally {
    for (const child of children) child.kill('SIGTERM')
    await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')))
  }
}

/** Sends this many requests per second, spread over ports. */
export async function speed(
  ports: readonly number[],
  requests: number,
  expect: string,
  request: (n: number) => string,
): Promise<number> {
  const share = { connections: CONNECTIONS / ports.length, requests: requests / ports.length, expect }
  const began = performance.now()
  const loads = await Promise.all(
    ports.map((port, at) =>
      load({ ...share, port, request: (n) => request(n * ports.length + at), isPatient: true }),
    ),
  )
  const refusals = loads.reduce((sum, each) => sum + each.refusals, 0)
  // The orders of an account run one after the other: on a slow machine, the last of 64 waits longer than the service
  // allows.
  if (refusals > 0) console.log(`${refusals} of ${requests} requests were refused for a while, and retried`)
  return (1000 * requests) / (performance.now() - began)
}

/** The request that orders a server, as it goes over the wire. */
export function create(token: string, order: object): string {
  const body = JSON.stringify(order)
  const head = `POST /v1/servers HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json`
  return `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
