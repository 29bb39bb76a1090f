import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { createAccount } from '../../../api/accounts/accounts.ts'
import { createToken } from '../../../api/accounts/tokens.ts'
import { post } from '../../../api/billing/ledger.ts'
import { systemClock } from '../../../api/clock.ts'
import { migrate } from '../../../api/database/migrate.ts'
import { openPostgres } from '../../../api/database/postgres.ts'
import { parseMoney } from '../../../api/money.ts'
import type { Reply } from '../../harness/app.ts'
import { type Child, listening, start } from './child.ts'

export function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'berthd-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const PROGRAM = 'api/main.ts'

/** @param program the program of another version */
export function berthd(args: readonly string[], env: Record<string, string> = {}, program = PROGRAM): Child {
  return start(program, args, env)
}

/** Runs a command to its end. */
export async function run(args: readonly string[], env: Record<string, string> = {}, program = PROGRAM) {
  const child = berthd(args, env, program)
  const { code } = await child.ended
  return { code, stdout: child.stdout, stderr: child.stderr }
}

export interface Service extends Child {
  token: string
  /** The URL of the API, including /v1. */
  address: string
  call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Omit<Reply, 'headers'>>
  /** Sends a request, and returns the reply whatever its status. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
}

/** Serves on the simulator until the test ends. */
export async function serve(
  data: string,
  env: Record<string, string> = {},
  program = PROGRAM,
): Promise<Service> {
  const settings = { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', PORT: '0', BERTH_LOG: 'warn', ...env }
  const child = berthd(['serve'], settings, program)
  onTestFinished(async () => {
    child.process.kill('SIGKILL')
    await child.ended
  })
  const { address } = await listening(child)
  const token = env.TOKEN ?? readFileSync(path.join(data, 'demo-token'), 'utf8').trim()
  const send: Service['send'] = (method, url, body, headers = {}) =>
    fetch(`${address}${url}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return Object.assign(child, {
    token,
    address,
    send,
    call: async (method: string, url: string, body?: unknown) => {
      const reply = await send(method, url, body)
      return { status: reply.status, body: await reply.json() }
    },
  })
}

/** Serves on a PostgreSQL database, for an account with very high quotas. */
export async function serveOn(
  url: string,
  data: string,
  env: Record<string, string> = {},
  program = PROGRAM,
): Promise<Service> {
  const TOKEN = env.TOKEN ?? (await openAccount(url))
  const limits = { BERTH_RATE_LIMITS: '1000000,1000000,1000000' }
  return serve(data, { DATABASE_URL: url, ...limits, ...env, TOKEN }, program)
}

/** Limits that no test uses up. */
const PLENTY = { servers: 1000, cpu: 1000, ram_mb: 10_000_000, disk_gb: 100_000 }

/** @returns a token of a new account, which has paid */
export async function openAccount(url: string, quotas: object = PLENTY): Promise<string> {
  const db = openPostgres(url)
  try {
    await migrate(db)
    const accountId = await createAccount(db, systemClock, {
      email: 'customer@example.com',
      name: 'Customer',
    })
    if (!accountId) throw new Error('there is an account already')
    await db
      .updateTable('accounts')
      .set({ quotas: JSON.stringify(quotas) })
      .execute()
    const payment = { accountId, type: 'payment', description: 'test', reference: 'first' } as const
    await post(db, systemClock, { ...payment, amount: parseMoney('1000000') })
    const token = { accountId, name: 'test', scopes: ['read', 'write'], expiresAt: null } as const
    return (await createToken(db, systemClock, token)).value
  } finally {
    await db.destroy()
  }
}

/** The body that orders the cheapest server. */
export async function order(service: Service): Promise<Record<string, unknown>> {
  const presets = await service.call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')
  const templates = await service.call('GET', '/templates')
  const ids = { template_id: templates.body[0].template_id, preset_id: presets.body[0].preset_id }
  return { zone_slug: 'local-1', plan_type: 'preset', cpu_type: 'amd', ...ids }
}
