import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import path from 'node:path'
import { type DriverName, hostModules } from './drivers/modules/modules.ts'
import { defaultDataDir } from './files.ts'
import { parseMoney } from './money.ts'
import type { Role } from './processes/peers.ts'
import { LOG_LEVELS, type SettingName, settings } from './settings.ts'

export interface ProviderSettings {
  readonly issuer: URL
  readonly clientId: string
  /** Null if the provider gave the installation no secret. */
  readonly clientSecret: string | null
}

/** A bucket of an S3 server, as a setting names it. */
export interface Bucket {
  /** The server's URL with the bucket and a prefix in its path, without a slash at the end. */
  url: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

/** A name server that is given the reverse DNS names. Of `rfc2136` the server and the key are words of nsupdate. */
export type NameServerSettings =
  | { readonly kind: 'pdns'; readonly url: URL; readonly key: string }
  | { readonly kind: 'rfc2136'; readonly server: string; readonly key: string }

/** The tax codes of YooKassa for receipts by the law 54-FZ. */
export interface Receipt {
  readonly vatCode: number
  /** Null if the shop has only one tax system. */
  readonly taxSystemCode: number | null
}

/** Every setting of the program, parsed once at the start and passed as an argument. */
export interface Config {
  readonly host: string
  readonly port: number
  /** The address that ports of guests listen on. */
  readonly guestHost: string
  /** The name that customers use for this installation; null: the addresses listened on. */
  readonly publicName: string | null
  readonly dataDir: string
  /** The URL of PostgreSQL; null: SQLite in the data folder. */
  readonly databaseUrl: string | null
  /** The URL of a replica, for reads that may be a second old. */
  readonly databaseReplicaUrl: string | null
  /** The role of this process, if several serve one database. */
  readonly role: Role
  readonly databaseConnections: number
  readonly catalogFile: string
  readonly compute: 'auto' | DriverName
  readonly accel: 'auto' | 'kvm' | 'tcg'
  /** True if strangers may become customers. The service then refuses to start unless all walls are up. */
  readonly isPublic: boolean
  readonly sshPorts: { readonly first: number; readonly last: number }
  readonly graceMs: number
  /** The time after which suspended servers are deleted; null: never. */
  readonly keepSuspendedMs: number | null
  /** The time for which each charge is kept by itself; null: for ever. */
  readonly keepChargesMs: number | null
  readonly hasConsole: boolean
  readonly hasHcloud: boolean
  /** Requests a minute. */
  readonly rateLimits: { readonly reads: number; readonly writes: number; readonly anonymous: number }
  /** The interval between two measurements of the machines. */
  readonly sampleSeconds: number
  /** Ranges that webhooks may reach besides the public internet. */
  readonly webhookAllow: readonly { address: string; prefix: number; family: 'ipv4' | 'ipv6' }[]
  /** The name server for reverse DNS names; null: none, so that the operator copies them. */
  readonly rdns: NameServerSettings | null
  /** The mail server; null: mails are written to files. */
  readonly smtp: URL | null
  readonly mailFrom: string
  /** The people who can sign up in the console. */
  readonly signUp: 'open' | 'invitation' | 'closed'
  /** The credit of people who sign up, in units, and the days until its rest expires; null: none. */
  readonly trialCredit: { readonly amount: number; readonly days: number } | null
  /** The OpenID Connect provider that people can sign in with; null: none. */
  readonly oidc: ProviderSettings | null
  /** A folder, or a bucket; null: nothing is copied off site. */
  readonly offsite: string | Bucket | null
  /** The API of YooKassa, with the shop's id and key; null: none. */
  readonly yookassa: URL | null
  /** The codes for receipts by the law 54-FZ; null: no receipts are sent. */
  readonly receipt: Receipt | null
  /** The API of Stripe, with the key; null: none. */
  readonly stripe: URL | null
  /** Ranges of the reverse proxies whose X-Forwarded-For is trusted. */
  readonly trustProxy: readonly string[]
  /** Address to serve metrics on for Prometheus; null if off. */
  readonly metrics: { readonly host: string; readonly port: number } | null
  readonly logLevel: string
}

/** A setting has an invalid value, or can't be applied. The message says which, and why. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** A command was used correctly, but failed. The message says why. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/**
 * @param flags values from the command line by setting name; they take precedence over the environment
 * @throws ConfigError
 */
export function readConfig(env: NodeJS.ProcessEnv, flags: Partial<Record<SettingName, string>> = {}): Config {
  const raw = (name: SettingName) => flags[name] ?? (env[settings[name].env] || settings[name].fallback)
  const given = (name: SettingName) => (raw(name) === settings[name].fallback ? null : raw(name))
  const host = readHost('host', raw('host'))
  const dataDir = given('dataDir') === null ? defaultDataDir() : path.resolve(raw('dataDir'))
  return Object.freeze({
    host,
    port: readPort('port', raw('port')),
    guestHost: readHost('guestHost', given('guestHost') ?? host),
    publicName: readName(given('publicName')),
    dataDir,
    databaseUrl: readDatabaseUrl('databaseUrl', given('databaseUrl')),
    databaseReplicaUrl: readDatabaseUrl('databaseReplicaUrl', given('databaseReplicaUrl')),
    role: readRole(raw('role'), given('databaseUrl')),
    databaseConnections: readConnections(raw('databaseConnections')),
    catalogFile: path.resolve(given('catalogFile') ?? path.join(dataDir, 'catalog.yaml')),
    compute: oneOf('compute', raw('compute'), ['auto', ...hostModules.map(({ name }) => name)] as const),
    accel: oneOf('accel', raw('accel'), ['auto', 'kvm', 'tcg'] as const),
    isPublic: oneOf('isPublic', raw('isPublic'), ['on', 'off'] as const) === 'on',
    sshPorts: readPortRange(raw('sshPorts')),
    graceMs: readHours('graceMs', raw('graceMs')),
    // In less than a week, customers may not hear of it in time.
    keepSuspendedMs: readDays('keepSuspendedMs', raw('keepSuspendedMs'), 7),
    // Invoices of the two months before may still be to come.
    keepChargesMs: readDays('keepChargesMs', raw('keepChargesMs'), 92),
    hasHcloud: oneOf('hasHcloud', raw('hasHcloud'), ['on', 'off'] as const) === 'on',
    hasConsole: oneOf('hasConsole', raw('hasConsole'), ['on', 'off'] as const) === 'on',
    rateLimits: readRateLimits(raw('rateLimits')),
    sampleSeconds: readSampleSeconds(raw('sampleSeconds')),
    webhookAllow: readRanges('webhookAllow', raw('webhookAllow')),
    rdns: readNameServer(given('rdns')),
    smtp: readSmtp(given('smtp')),
    mailFrom: readMailFrom(given('mailFrom') ?? `berth@${given('publicName') ?? 'localhost'}`),
    signUp: oneOf('signUp', raw('signUp'), ['open', 'invitation', 'closed'] as const),
    trialCredit: readTrial(given('trialCredit')),
    oidc: readProvider(given('oidcIssuer'), given('oidcClientId'), given('oidcClientSecret')),
    offsite: readOffsite(given('offsite')),
    yookassa: readApi('yookassa', given('yookassa')),
    receipt: readReceipt(given('receipt')),
    stripe: readApi('stripe', given('stripe')),
    trustProxy: readProxies(raw('trustProxy')),
    metrics: readMetrics(raw('metrics')),
    logLevel: oneOf('logLevel', raw('logLevel'), LOG_LEVELS),
  })
}

function refuse(name: SettingName, value: string, why: string): never {
  throw new ConfigError(`${settings[name].env} (${settings[name].flag}) is "${value}": ${why}`)
}

function oneOf<T extends string>(name: SettingName, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  return found ?? refuse(name, value, `it must be one of ${allowed.join(', ')}.`)
}

function readHost(name: SettingName, value: string): string {
  return /^[\w.:-]+$/.test(value) ? value : refuse(name, value, 'it must be an address or a host name.')
}

/** Reads a host name for URLs and SSH commands. An IPv6 address is refused, since the two write it differently. */
function readName(value: string | null): string | null {
  if (value === null || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value)) return value
  return refuse('publicName', value, 'it must be a host name or an IPv4 address, without scheme and port.')
}

/** The message leaves out the value, which may contain a password. */
function readDatabaseUrl(name: SettingName, value: string | null): string | null {
  if (value === null) return null
  const isUrl = /^postgres(ql)?:\/\//.test(value) && URL.canParse(value)
  if (isUrl && new URL(value).pathname.length > 1) return value
  return refuse(
    name,
    '…',
    'it must be a URL with the name of a database: postgres://user:password@host:5432/berth.',
  )
}

function readRole(value: string, databaseUrl: string | null): Role {
  const role = oneOf('role', value, ['all', 'api', 'worker'] as const)
  if (role === 'all' || databaseUrl !== null) return role
  return refuse(
    'role',
    value,
    'multiple processes require PostgreSQL. Set DATABASE_URL (--database-url), or set the role to "all".',
  )
}

function readConnections(value: string): number {
  const count = /^\d{1,4}$/.test(value) ? Number(value) : 0
  // One caller gets at most half of the connections.
  return count >= 4 ? count : refuse('databaseConnections', value, 'it must be a whole number from 4.')
}

function readPort(name: SettingName, value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : -1
  return port >= 0 && port <= 65535 ? port : refuse(name, value, 'it must be a port number from 0 to 65535.')
}

function readPortRange(value: string): { first: number; last: number } {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(value)
  const [first, last] = [Number(match?.[1]), Number(match?.[2])]
  if (!match || first < 1024 || last > 65535 || first > last)
    refuse('sshPorts', value, 'it must be a range such as 22000-22999, within 1024-65535.')
  return { first, last }
}

function readMetrics(value: string): Config['metrics'] {
  if (value === 'off') return null
  const match = /^(.+):(\d{1,5})$/.exec(value)
  if (!match)
    return refuse('metrics', value, 'it must be "off", or a host and a port such as 127.0.0.1:9464.')
  return { host: readHost('metrics', match[1] ?? ''), port: readPort('metrics', match[2] ?? '') }
}

function readHours(name: SettingName, value: string): number {
  if (!/^\d{1,5}$/.test(value)) refuse(name, value, 'it must be a whole number of hours.')
  return Number(value) * 3600_000
}

function readDays(name: SettingName, value: string, least: number): number | null {
  if (value === '0') return null
  if (!/^\d{1,4}$/.test(value) || Number(value) < least)
    refuse(name, value, `it must be 0, or a whole number of days from ${least}.`)
  return Number(value) * 24 * 3600_000
}

function readRateLimits(value: string): Config['rateLimits'] {
  const match = /^([1-9]\d{0,8}),([1-9]\d{0,8}),([1-9]\d{0,8})$/.exec(value)
  if (!match) refuse('rateLimits', value, 'it must be three whole numbers such as 600,120,60.')
  const [reads = 0, writes = 0, anonymous = 0] = match.slice(1).map(Number)
  return { reads, writes, anonymous }
}

/** A bare address is a range of one. */
function readRanges(name: SettingName, value: string): Config['webhookAllow'] {
  if (value === 'none') return []
  return value.split(',').map((part) => {
    const [, address = '', bits] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(part.trim()) ?? []
    const version = isIP(address)
    const longest = version === 4 ? 32 : 128
    const prefix = Number(bits ?? longest)
    if (version === 0 || prefix > longest)
      refuse(name, value, 'it must be "none", or ranges such as 10.1.0.0/16,fd00::/8.')
    return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }
  })
}

/** The error omits the URL, which may contain a password. */
function readSmtp(value: string | null): URL | null {
  if (value === null) return null
  const url = URL.parse(value)
  const isServer = url && /^smtps?:$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname)
  if (isServer) return url
  return refuse('smtp', '…', 'it must be a URL such as smtp://user:password@mail.example.com:587.')
}

/** The error omits the URL, which contains a secret. */
function readOffsite(value: string | null): Config['offsite'] {
  if (value === null || value.startsWith('/')) return value && path.resolve(value)
  const url = /^s3(\+http)?:\/\//.test(value) ? URL.parse(value) : null
  const { protocol = '', host = '', username = '', password = '' } = url ?? {}
  const place = url?.pathname.replace(/\/+$/, '') ?? ''
  const isEncoded = !/%(?![0-9a-f]{2})/i.test(username + password)
  if (host === '' || username === '' || password === '' || !isEncoded || !/^(\/[\w.-]+)+$/.test(place))
    return refuse(
      'offsite',
      '…',
      'it must be a folder such as /mnt/offsite, or s3://key:secret@s3.example.com/bucket?region=eu-1, the key and the secret with % and two digits for other signs than letters and digits.',
    )
  return {
    url: `${protocol === 's3:' ? 'https' : 'http'}://${host}${place}`,
    region: url?.searchParams.get('region') ?? 'us-east-1',
    accessKeyId: decodeURIComponent(username),
    secretAccessKey: decodeURIComponent(password),
  }
}

function readMailFrom(value: string): string {
  if (/^[^\s@<>]+@[^\s@<>]+$/.test(value)) return value
  return refuse('mailFrom', value, 'it must be an address such as berth@example.com.')
}

function readProvider(issuer: string | null, id: string | null, secret: string | null): Config['oidc'] {
  if (issuer === null && id === null && secret === null) return null
  const url = URL.parse(issuer ?? '')
  if (!url || !isSafe(url) || url.search || url.hash || url.username)
    return refuse(
      'oidcIssuer',
      issuer ?? 'none',
      'it must be the URL of a provider, such as https://accounts.example.com.',
    )
  if (id === null) return refuse('oidcClientId', 'none', 'it must be the client id that the provider issued.')
  return { issuer: url, clientId: id, clientSecret: readSecret('oidcClientSecret', secret) }
}

/** True for addresses with TLS, and those of this machine. */
function isSafe({ protocol, hostname }: URL): boolean {
  return (
    protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname))
  )
}

/** The error omits the value, which is a secret. */
function readSecret(name: SettingName, value: string | null): string | null {
  if (!value?.startsWith('file:')) return value
  try {
    return readFileSync(value.slice('file:'.length), 'utf8').trim()
  } catch {
    return refuse(name, '…', 'it must be the value, or file:/path of a file that can be read.')
  }
}

/** Reads the API of a payment provider. The error omits the value, which contains a key. */
function readApi(name: 'yookassa' | 'stripe', given: string | null): URL | null {
  const value = readSecret(name, given)
  if (value === null) return null
  const url = URL.parse(value)
  const hasKey = url?.username && (name === 'stripe' || url.password)
  if (url && isSafe(url) && hasKey && !url.search && !url.hash) return url
  const example =
    name === 'stripe'
      ? 'https://secret_key@api.stripe.com/v1'
      : 'https://shop_id:secret_key@api.yookassa.ru/v3'
  return refuse(name, '…', `it must be a URL such as ${example}.`)
}

/** The error omits the value, which contains a key. */
function readNameServer(given: string | null): NameServerSettings | null {
  const value = readSecret('rdns', given)
  if (value === null) return null
  const [, origin = '', apiKey = '', rest = ''] = /^pdns\+(https?:\/\/)(\S+)@([^@\s]+)$/.exec(value) ?? []
  const url = URL.parse(`${origin}${rest}`)
  if (url && isSafe(url) && !url.search && !url.hash) return { kind: 'pdns', url, key: apiKey }
  const [, name, secret, host, port = '53', algorithm = 'hmac-sha256'] =
    /^rfc2136:\/\/([\w.-]+):([\w+/=]+)@([\w.-]+|\[[\da-f:]+\])(?::(\d{1,5}))?(?:\?algorithm=(hmac-sha\d{3}))?$/.exec(
      value,
    ) ?? []
  if (name && secret && host && Number(port) <= 65535) {
    const server = `${host.replaceAll(/[[\]]/g, '')} ${port}`
    return { kind: 'rfc2136', server, key: `${algorithm}:${name} ${secret}` }
  }
  return refuse(
    'rdns',
    '…',
    'it must be a URL such as pdns+https://key@dns.example.com:8081 (http only on this machine), or rfc2136://key-name:secret@dns.example.com:53.',
  )
}

function readReceipt(value: string | null): Receipt | null {
  if (value === null) return null
  const match = /^([1-9]|1[0-2])(?:,([1-6]))?$/.exec(value)
  if (!match)
    return refuse('receipt', value, 'it must be the code of a tax rate from 1 to 12, perhaps with ,1 to ,6.')
  return { vatCode: Number(match[1]), taxSystemCode: match[2] === undefined ? null : Number(match[2]) }
}

function readTrial(value: string | null): Config['trialCredit'] {
  if (value === null) return null
  const [, rubles = '', days = ''] =
    /^(?=.*[1-9].*,)(\d{1,6}(?:\.\d{1,2})?),([1-9]\d{0,3})$/.exec(value) ?? []
  if (rubles === '')
    return refuse(
      'trialCredit',
      value,
      'it must be rubles and days, at most 999999 and 9999, such as 300,30.',
    )
  return { amount: parseMoney(rubles), days: Number(days) }
}

/** If every proxy were trusted, callers could choose their address. */
function readProxies(value: string): string[] {
  return readRanges('trustProxy', value).map(({ address, prefix }) =>
    prefix === 0
      ? refuse('trustProxy', value, 'it must be a range of proxies only; /0 matches every address.')
      : `${address}/${prefix}`,
  )
}

/** A minute must consist of whole samples. */
function readSampleSeconds(value: string): number {
  const seconds = /^\d{1,2}$/.test(value) ? Number(value) : 0
  return seconds > 0 && 60 % seconds === 0
    ? seconds
    : refuse('sampleSeconds', value, 'it must be 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30 or 60.')
}
