import {
  account,
  announcements,
  audit,
  complaints,
  projects,
  sshKeys,
  tokens,
  transactions,
  usage,
} from './account.ts'
import { addresses } from './addresses.ts'
import { backups } from './backups.ts'
import { capacity, limits, presets, quote, templates, zones } from './catalogue.ts'
import { deviceLogins } from './devices.ts'
import { documents } from './documents.ts'
import { events } from './events.ts'
import { firewalls } from './firewalls.ts'
import { images } from './images.ts'
import { isos } from './isos.ts'
import { invitations, members } from './members.ts'
import { networks } from './networks.ts'
import { operations } from './operations.ts'
import { operator } from './operator.ts'
import { credits, payments, transfers } from './payments.ts'
import { passkeys, person, sessions, signIn } from './people.ts'
import { ports } from './ports.ts'
import { type Call, caller, type Fetch, type Settings } from './request.ts'
import { type Sleep, sleep } from './retries.ts'
import { servers } from './servers.ts'
import { snapshots } from './snapshots.ts'
import { volumes } from './volumes.ts'
import { webhooks } from './webhooks.ts'

export interface BerthOptions {
  /** Address of the service, such as `https://cloud.example`, also with `/v1`; on a page of it `/v1` is enough. */
  baseUrl: string
  /** An API token: `berth_…`. */
  token?: string | undefined
  /** Timeout of one attempt; default: 30 s. */
  timeoutMs?: number | undefined
  /** Number of retries of a failed request, where that is safe; default: 3. */
  retries?: number | undefined
  /** Replaces the global `fetch`. */
  fetch?: Fetch | undefined
  /** Waits between attempts; tests replace it. */
  sleep?: Sleep | undefined
  /** Randomizes the pauses; tests replace it. */
  random?: (() => number) | undefined
}

/** A client for one Berth API, with one token. Each resource of the API is a member. */
export class Berth {
  /** Calls any route by its name, such as `GET /zones`; the other members are built on this. */
  readonly request: Call
  readonly signIn: ReturnType<typeof signIn>
  readonly deviceLogins: ReturnType<typeof deviceLogins>
  readonly person: ReturnType<typeof person>
  readonly sessions: ReturnType<typeof sessions>
  readonly passkeys: ReturnType<typeof passkeys>
  readonly members: ReturnType<typeof members>
  readonly invitations: ReturnType<typeof invitations>
  readonly account: ReturnType<typeof account>
  readonly projects: ReturnType<typeof projects>
  readonly sshKeys: ReturnType<typeof sshKeys>
  readonly tokens: ReturnType<typeof tokens>
  readonly transactions: ReturnType<typeof transactions>
  readonly usage: ReturnType<typeof usage>
  readonly payments: ReturnType<typeof payments>
  readonly credits: ReturnType<typeof credits>
  readonly transfers: ReturnType<typeof transfers>
  readonly documents: ReturnType<typeof documents>
  readonly zones: ReturnType<typeof zones>
  readonly templates: ReturnType<typeof templates>
  readonly presets: ReturnType<typeof presets>
  readonly limits: ReturnType<typeof limits>
  readonly capacity: ReturnType<typeof capacity>
  readonly quote: ReturnType<typeof quote>
  readonly servers: ReturnType<typeof servers>
  readonly ports: ReturnType<typeof ports>
  readonly addresses: ReturnType<typeof addresses>
  readonly networks: ReturnType<typeof networks>
  readonly volumes: ReturnType<typeof volumes>
  readonly firewalls: ReturnType<typeof firewalls>
  readonly images: ReturnType<typeof images>
  readonly isos: ReturnType<typeof isos>
  readonly snapshots: ReturnType<typeof snapshots>
  readonly backups: ReturnType<typeof backups>
  readonly operations: ReturnType<typeof operations>
  readonly events: ReturnType<typeof events>
  readonly webhooks: ReturnType<typeof webhooks>
  readonly announcements: ReturnType<typeof announcements>
  readonly complaints: ReturnType<typeof complaints>
  readonly audit: ReturnType<typeof audit>
  readonly operator: ReturnType<typeof operator>

  /** @throws TypeError if the baseUrl or the token is not valid */
  constructor(options: BerthOptions) {
    const settings = settingsOf(options)
    const call = caller(settings)
    this.request = call
    this.signIn = signIn(call)
    this.deviceLogins = deviceLogins(settings, call)
    this.person = person(call)
    this.sessions = sessions(call)
    this.passkeys = passkeys(call)
    this.members = members(call)
    this.invitations = invitations(call)
    this.account = account(call)
    this.projects = projects(call)
    this.sshKeys = sshKeys(call)
    this.tokens = tokens(call)
    this.transactions = transactions(call)
    this.usage = usage(call)
    this.payments = payments(settings, call)
    this.credits = credits(call)
    this.transfers = transfers(call)
    this.documents = documents(this.request)
    this.zones = zones(call)
    this.templates = templates(call)
    this.presets = presets(call)
    this.limits = limits(call)
    this.capacity = capacity(call)
    this.quote = quote(call)
    this.servers = servers(settings, call)
    this.ports = ports(call)
    this.addresses = addresses(call)
    this.networks = networks(call)
    this.volumes = volumes(call)
    this.firewalls = firewalls(call)
    this.images = images(settings, call)
    this.isos = isos(settings, call)
    this.snapshots = snapshots(call)
    this.backups = backups(call)
    this.operations = operations(call)
    this.events = events(settings, call)
    this.webhooks = webhooks(settings, call)
    this.announcements = announcements(call)
    this.complaints = complaints(call)
    this.audit = audit(call)
    this.operator = operator(call)
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
  // Paths are appended to it.
  if (!url || url.username || url.password || /[?#]/.test(baseUrl))
    throw new TypeError(
      `"${baseUrl}" is not a valid baseUrl: it must be an address such as https://cloud.example.`,
    )
  const base = baseUrl.replace(/\/+$/, '')
  // The path of the API is added to a host alone.
  return /^https?:\/\/[^/]+$/.test(base) ? `${base}/v1` : base
}

/** The message omits an invalid value, which may be another secret. */
function tokenOf(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]*$/.test(token)) return token
  throw new TypeError('The token is not valid: it contains spaces, line breaks or other invalid characters.')
}
