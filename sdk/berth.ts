import { account, audit, projects, sshKeys, tokens, transactions, usage } from './account.ts'
import { capacity, limits, presets, quote, templates, zones } from './catalogue.ts'
import { events } from './events.ts'
import { operations } from './operations.ts'
import { type Call, caller, type Fetch, type Settings } from './request.ts'
import { type Sleep, sleep } from './retries.ts'
import { servers } from './servers.ts'
import { webhooks } from './webhooks.ts'

export interface BerthOptions {
  /** Where the API is, such as `https://cloud.example/v1`; in a page of the same address `/v1` will do. */
  baseUrl: string
  /** A token of the account: `berth_…`. */
  token?: string | undefined
  /** How long one try of a request may take; 30 s without it. */
  timeoutMs?: number | undefined
  /** How often a request that failed is tried again, where that is safe; 3 without it. */
  retries?: number | undefined
  /** Used instead of the system's own. */
  fetch?: Fetch | undefined
  /** Waits between tries: for tests that have no time. */
  sleep?: Sleep | undefined
  /** Chooses how long a pause is: for tests that want no chance. */
  random?: (() => number) | undefined
}

/** A client of one Berth, with one token. Each noun of the API is a member. */
export class Berth {
  /** Calls any route by its name in the API's description; the other members are made of this. */
  readonly request: Call
  readonly account: ReturnType<typeof account>
  readonly projects: ReturnType<typeof projects>
  readonly sshKeys: ReturnType<typeof sshKeys>
  readonly tokens: ReturnType<typeof tokens>
  readonly transactions: ReturnType<typeof transactions>
  readonly usage: ReturnType<typeof usage>
  readonly zones: ReturnType<typeof zones>
  readonly templates: ReturnType<typeof templates>
  readonly presets: ReturnType<typeof presets>
  readonly limits: ReturnType<typeof limits>
  readonly capacity: ReturnType<typeof capacity>
  readonly quote: ReturnType<typeof quote>
  readonly servers: ReturnType<typeof servers>
  readonly operations: ReturnType<typeof operations>
  readonly events: ReturnType<typeof events>
  readonly webhooks: ReturnType<typeof webhooks>
  readonly audit: ReturnType<typeof audit>

  /** @throws TypeError where the baseUrl or the token can be none */
  constructor(options: BerthOptions) {
    const settings = settingsOf(options)
    const call = caller(settings)
    this.request = call
    this.account = account(call)
    this.projects = projects(call)
    this.sshKeys = sshKeys(call)
    this.tokens = tokens(call)
    this.transactions = transactions(call)
    this.usage = usage(call)
    this.zones = zones(call)
    this.templates = templates(call)
    this.presets = presets(call)
    this.limits = limits(call)
    this.capacity = capacity(call)
    this.quote = quote(call)
    this.servers = servers(call)
    this.operations = operations(call)
    this.events = events(settings, call)
    this.webhooks = webhooks(call)
    this.audit = audit(call)
  }
}

function settingsOf(options: BerthOptions): Settings {
  return {
    baseUrl: baseOf(options.baseUrl),
    token: tokenOf(options.token),
    timeoutMs: options.timeoutMs ?? 30_000,
    retries: options.retries ?? 3,
    // A browser's fetch must not be called as a method of something else.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    sleep: options.sleep ?? sleep,
    random: options.random ?? Math.random,
  }
}

function baseOf(baseUrl: string): string {
  const url = /^(https?:\/\/[^/]|\/)/.test(baseUrl) ? URL.parse(baseUrl, 'http://this-page') : null
  // What is asked is put behind it.
  if (!url || url.username || url.password || /[?#]/.test(baseUrl))
    throw new TypeError(
      `The baseUrl "${baseUrl}" is no address: it begins with http:// or https://, and ends in /v1.`,
    )
  const base = baseUrl.replace(/\/+$/, '')
  // The address alone is what people have at hand.
  return /^https?:\/\/[^/]+$/.test(base) ? `${base}/v1` : base
}

/** What can't stand in a header is not told: it may be another secret. */
function tokenOf(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]*$/.test(token)) return token
  throw new TypeError('The token is none: it has spaces, line breaks or letters that no token has.')
}
