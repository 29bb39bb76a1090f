import { readFileSync } from 'node:fs'
import type { KyselyPlugin } from 'kysely'
import pino from 'pino'
import { onTestFinished } from 'vitest'
import { createAccount } from '../../api/accounts/accounts.ts'
import { createToken } from '../../api/accounts/tokens.ts'
import { type App, buildApp } from '../../api/app.ts'
import { post } from '../../api/billing/ledger.ts'
import { parseCatalog } from '../../api/catalog/file.ts'
import { type CatalogSource, checkText } from '../../api/catalog/live.ts'
import type { Database } from '../../api/database/database.ts'
import { Drivers } from '../../api/drivers/drivers.ts'
import { Simulator, type SimulatorOptions } from '../../api/drivers/simulator/simulator.ts'
import type { ScopeName } from '../../api/http/contract/auth.ts'
import type { Mail } from '../../api/mail/mailer.ts'
import { parseMoney } from '../../api/money.ts'
import { Passwords } from '../../api/people/guard/passwords.ts'
import { Secrets } from '../../api/secrets.ts'
import type { AppOptions } from '../../api/wiring/options.ts'
import { ManualClock } from './clock.ts'
import { testDatabase } from './database.ts'

export interface Reply {
  status: number
  // Each test states the shape that it expects of a body.
  // biome-ignore lint/suspicious/noExplicitAny: a wrong guess fails the assertion that made it
  body: any
  headers: Record<string, string | undefined>
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT' | 'HEAD'
export type Call = (
  method: Method,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Reply>

export interface TestApp {
  app: App
  db: Database
  clock: ManualClock
  driver: Simulator
  /** A second simulator, for zones whose driver is qemu. */
  other: Simulator
  drivers: Drivers
  accountId: string
  /** Calls /v1 as the test's account, with every scope. */
  call: Call
  /** The token that `call` sends. */
  token: string
  /** Calls /v1 with another token, or with none. */
  callAs(token: string | null): Call
  makeToken(
    scopes: readonly ScopeName[],
    options?: { accountId?: string; expiresAt?: number },
  ): Promise<string>
  makeAccount(balance?: string): Promise<string>
  /** Mails that were sent, oldest first. */
  mails: Mail[]
  /** Runs all work that is due at this moment. */
  work(): Promise<void>
  /** Advances the clock until no work is left. */
  finish(): Promise<void>
}

/** Where people open the console. */
export const SITE = 'http://localhost'
const ALL: readonly ScopeName[] = ['account:read', 'account:write', 'servers:read', 'servers:write']
export const catalogText = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
/** The catalogue is parsed once, because parsing takes a third of the time of building an application. */
const shipped = parseCatalog(catalogText, 'catalog.yaml')

/** The shipped catalogue as the operator reads it. */
const catalogSource: CatalogSource = {
  inForce: { text: catalogText, since: 0, faults: [] },
  check: (text, now) => {
    const none = async () => []
    const images = { ready: async () => null }
    const place = { file: 'catalog.yaml', lastGood: '', images, ordered: none, held: none }
    return checkText(place, { catalog: shipped, text }, now)
  },
  refresh: async () => {},
  write: async () => {
    throw new Error('the sample catalogue is not valid for an installation')
  },
}

type TestOptions = Partial<AppOptions> & {
  simulator?: Partial<SimulatorOptions>
  /** True if two drivers serve side by side. */
  hasOther?: boolean
  /** The balance of the test's account, in rubles. */
  balance?: string
  /** Called after each statement of the application. An error that it throws reaches the application in place of the rows. */
  afterStatement?: () => void
}

/** Builds the real application in memory, with a real database, simulated machines and a clock that tests advance. */
export async function testApp(options: TestOptions = {}): Promise<TestApp> {
  const { simulator, hasOther = false, balance, afterStatement, ...more } = options
  const clock = new ManualClock()
  const { db, drop } = await testDatabase()
  const driver = new Simulator({ clock, ...simulator })
  const other = new Simulator({ clock })
  const drivers = new Drivers('simulator', { simulator: driver, ...(hasOther ? { qemu: other } : {}) })
  const mails: Mail[] = []
  const app = await buildApp({
    ...forPeople(mails),
    db: afterStatement ? Object.assign(db.withPlugin(watching(afterStatement)), { destroy: db.destroy }) : db,
    clock,
    drivers,
    catalog: shipped,
    catalogText: catalogSource,
    secrets: new Secrets(Buffer.alloc(32, 7)),
    log: pino({ level: process.env.BERTH_LOG ?? 'silent' }),
    sshPorts: { first: 22000, last: 22999 },
    sshHost: '127.0.0.1',
    rateLimits: { reads: 1e9, writes: 1e9, anonymous: 1e9 },
    validateReplies: true,
    ...more,
  })
  onTestFinished(async () => {
    await app.close()
    await drop()
  })
  const makeAccount = accountMaker(db, clock)
  const accountId = await makeAccount(balance)
  const makeToken: TestApp['makeToken'] = async (
    scopes,
    { accountId: owner = accountId, expiresAt = null as number | null } = {},
  ) => (await createToken(db, clock, { accountId: owner, name: 'test', scopes, expiresAt })).value
  const callAs = (token: string | null): Call => caller(app, token)
  const token = await makeToken(ALL)
  return {
    app,
    db,
    clock,
    driver,
    other,
    drivers,
    accountId,
    call: callAs(token),
    token,
    callAs,
    makeToken,
    makeAccount,
    mails,
    ...workers(app, clock),
  }
}

function watching(afterStatement: () => void): KyselyPlugin {
  return {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      afterStatement()
      return result
    },
  }
}

/** Parts for sign-in: mails are kept in memory, and passwords are cheap to hash. */
function forPeople(mails: Mail[]) {
  return {
    mailer: {
      place: 'in a test',
      send: async (mail: Mail) => void mails.push(mail),
      check: async () => {},
      close: () => {},
    },
    siteUrl: () => SITE,
    passwords: new Passwords({ logN: 4, r: 8, p: 1 }),
  }
}

function accountMaker(db: Database, clock: ManualClock) {
  let accounts = 0
  return async (balance = '10000') => {
    accounts += 1
    const account = { email: `customer${accounts}@example.com`, name: `Customer ${accounts}` }
    const accountId = await createAccount(db, clock, account)
    if (!accountId) throw new Error('the account exists already')
    const amount = parseMoney(balance)
    const entry = { accountId, amount, description: 'test', reference: null }
    if (amount !== 0) await post(db, clock, { ...entry, type: 'payment' })
    return accountId
  }
}

function workers(app: App, clock: ManualClock): Pick<TestApp, 'work' | 'finish'> {
  const work = async () => {
    do await app.engine.settled()
    while ((await app.engine.tick()) > 0)
    await app.connectivity.settled()
  }
  const finish = async () => {
    for (;;) {
      await work()
      const due = await app.engine.nextDueAt()
      if (due === null) return
      clock.advance(Math.max(1, due - clock.now()))
    }
  }
  return { work, finish }
}

function caller(app: App, token: string | null): Call {
  return async (method, path, body, headers = {}) => {
    const isText = typeof body === 'string' || body instanceof Uint8Array
    const reply = await app.http.inject({
      method,
      url: `/v1${path}`,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: isText ? body : JSON.stringify(body) }),
    })
    const isJson = reply.headers['content-type']?.toString().includes('json')
    return {
      status: reply.statusCode,
      // A reply to HEAD has no body.
      body: isJson && reply.body ? JSON.parse(reply.body) : reply.body,
      headers: Object.fromEntries(
        Object.entries(reply.headers).map(([name, value]) => [name, value?.toString()]),
      ),
    }
  }
}
