import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import type { Reply } from '../../harness/app.ts'
import { type Child, listening, start } from './child.ts'

export function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'berthd-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

export function berthd(args: readonly string[], env: Record<string, string> = {}): Child {
  return start('api/main.ts', args, env)
}

/** Runs a command to its end. */
export async function run(args: readonly string[], env: Record<string, string> = {}) {
  const child = berthd(args, env)
  const { code } = await child.ended
  return { code, stdout: child.stdout, stderr: child.stderr }
}

export interface Service extends Child {
  call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Omit<Reply, 'headers'>>
}

/** Serves on the simulator until the test ends. */
export async function serve(data: string, env: Record<string, string> = {}): Promise<Service> {
  const child = berthd(['serve'], {
    BERTH_DATA: data,
    BERTH_COMPUTE: 'simulator',
    PORT: '0',
    BERTH_LOG: 'warn',
    ...env,
  })
  onTestFinished(async () => {
    child.process.kill('SIGKILL')
    await child.ended
  })
  const { address } = await listening(child)
  const token = readFileSync(path.join(data, 'demo-token'), 'utf8').trim()
  return Object.assign(child, {
    call: async (method: string, url: string, body?: unknown) => {
      const reply = await fetch(`${address}${url}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: reply.status, body: await reply.json() }
    },
  })
}

/** The body that orders the cheapest server. */
export async function order(service: Service): Promise<Record<string, unknown>> {
  const presets = await service.call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')
  const templates = await service.call('GET', '/templates')
  const ids = { template_id: templates.body[0].template_id, preset_id: presets.body[0].preset_id }
  return { zone_slug: 'local-1', plan_type: 'preset', cpu_type: 'amd', ...ids }
}
