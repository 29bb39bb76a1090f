import { isIP } from 'node:net'
import path from 'node:path'

/** Every setting of the program, parsed once at the start and passed as an argument. */
export interface Config {
  readonly host: string
  readonly port: number
  /** Where the ports of guests listen. */
  readonly guestHost: string
  /** The name that customers use for this installation; null: the addresses listened on. */
  readonly publicName: string | null
  readonly dataDir: string
  readonly catalogFile: string
  readonly compute: 'auto' | 'qemu' | 'simulator'
  readonly accel: 'auto' | 'kvm' | 'tcg'
  readonly sshPorts: { readonly first: number; readonly last: number }
  readonly graceMs: number
  /** Requests a minute. */
  readonly rateLimits: { readonly reads: number; readonly writes: number; readonly anonymous: number }
  /** Between two measurements of the machines. */
  readonly sampleSeconds: number
  /** Ranges that webhooks may reach besides the public internet. */
  readonly webhookAllow: readonly { address: string; prefix: number; family: 'ipv4' | 'ipv6' }[]
  /** Ranges of the reverse proxies whose X-Forwarded-For is trusted. */
  readonly trustProxy: readonly string[]
  /** Address to serve metrics on for Prometheus; null if off. */
  readonly metrics: { readonly host: string; readonly port: number } | null
  readonly logLevel: string
}

interface Setting {
  env: string
  flag: string
  fallback: string
  /** Shown in --help and in README's table. */
  help: string
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent']

/** The single table of settings: `--help`, README and the parser use it. */
export const settings = {
  host: {
    env: 'HOST',
    flag: '--host',
    fallback: '127.0.0.1',
    help: 'address that the API listens on',
  },
  port: { env: 'PORT', flag: '--port', fallback: '8080', help: 'port of the API' },
  guestHost: {
    env: 'BERTH_GUEST_HOST',
    flag: '--guest-host',
    fallback: 'as HOST',
    help: 'address that the SSH ports of servers listen on',
  },
  publicName: {
    env: 'BERTH_PUBLIC_NAME',
    flag: '--public-name',
    fallback: 'none',
    help: 'host name that customers are shown, in SSH commands and in the URL of the API',
  },
  dataDir: {
    env: 'BERTH_DATA',
    flag: '--data',
    fallback: './data',
    help: 'folder for the database, images and machines',
  },
  catalogFile: {
    env: 'BERTH_CATALOG',
    flag: '--catalog',
    fallback: './catalog.yaml',
    help: 'catalogue file: zones, templates, presets, prices',
  },
  compute: {
    env: 'BERTH_COMPUTE',
    flag: '--compute',
    fallback: 'auto',
    help: 'driver that runs the servers: auto, qemu or simulator',
  },
  accel: {
    env: 'BERTH_ACCEL',
    flag: '--accel',
    fallback: 'auto',
    help: 'how QEMU runs guests: auto, kvm or tcg',
  },
  sshPorts: {
    env: 'BERTH_SSH_PORTS',
    flag: '--ssh-ports',
    fallback: '22000-22999',
    help: 'range of ports for SSH to servers',
  },
  graceMs: {
    env: 'BERTH_GRACE_HOURS',
    flag: '--grace-hours',
    fallback: '24',
    help: 'hours that servers keep running after the balance is used up, before they are suspended',
  },
  rateLimits: {
    env: 'BERTH_RATE_LIMITS',
    flag: '--rate-limits',
    fallback: '600,120,60',
    help: 'requests per minute: reads and writes per account, and requests without a token per address',
  },
  sampleSeconds: {
    env: 'BERTH_SAMPLE_SECONDS',
    flag: '--sample-seconds',
    fallback: '10',
    help: 'seconds between measurements of the servers; must divide 60',
  },
  webhookAllow: {
    env: 'BERTH_WEBHOOK_ALLOW',
    flag: '--webhook-allow',
    fallback: 'none',
    help: 'ranges that webhooks may reach besides the public internet, such as 10.1.0.0/16,fd00::/8',
  },
  trustProxy: {
    env: 'BERTH_TRUST_PROXY',
    flag: '--trust-proxy',
    fallback: 'none',
    help: 'addresses or ranges of reverse proxies whose X-Forwarded-For is trusted',
  },
  metrics: {
    env: 'BERTH_METRICS',
    flag: '--metrics',
    fallback: 'off',
    help: 'host:port to serve GET /metrics on for Prometheus; keep it private',
  },
  logLevel: {
    env: 'BERTH_LOG',
    flag: '--log',
    fallback: 'warn',
    help: `lowest log level to write: ${LOG_LEVELS.join(', ')}`,
  },
} as const satisfies Record<keyof Config, Setting>

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
export function readConfig(
  env: NodeJS.ProcessEnv,
  flags: Partial<Record<keyof Config, string>> = {},
): Config {
  const raw = (name: keyof Config) => flags[name] ?? (env[settings[name].env] || settings[name].fallback)
  const given = (name: keyof Config) => (raw(name) === settings[name].fallback ? null : raw(name))
  const host = readHost('host', raw('host'))
  return Object.freeze({
    host,
    port: readPort('port', raw('port')),
    guestHost: readHost('guestHost', given('guestHost') ?? host),
    publicName: readName(given('publicName')),
    dataDir: path.resolve(raw('dataDir')),
    catalogFile: path.resolve(raw('catalogFile')),
    compute: oneOf('compute', raw('compute'), ['auto', 'qemu', 'simulator'] as const),
    accel: oneOf('accel', raw('accel'), ['auto', 'kvm', 'tcg'] as const),
    sshPorts: readPortRange(raw('sshPorts')),
    graceMs: readHours('graceMs', raw('graceMs')),
    rateLimits: readRateLimits(raw('rateLimits')),
    sampleSeconds: readSampleSeconds(raw('sampleSeconds')),
    webhookAllow: readRanges('webhookAllow', raw('webhookAllow')),
    trustProxy: readProxies(raw('trustProxy')),
    metrics: readMetrics(raw('metrics')),
    logLevel: oneOf('logLevel', raw('logLevel'), LOG_LEVELS),
  })
}

/** No setting of the service's, so that neither its flags, which others can see, nor its configuration hold it. */
export function passphraseFrom(env: NodeJS.ProcessEnv): string | undefined {
  return env.BERTH_PASSPHRASE || undefined
}

function refuse(name: keyof Config, value: string, why: string): never {
  throw new ConfigError(`${settings[name].env} (${settings[name].flag}) is "${value}": ${why}`)
}

function oneOf<T extends string>(name: keyof Config, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  return found ?? refuse(name, value, `it must be one of ${allowed.join(', ')}.`)
}

function readHost(name: keyof Config, value: string): string {
  return /^[\w.:-]+$/.test(value) ? value : refuse(name, value, 'it must be an address or a host name.')
}

/** What stands in URLs and SSH commands: an IPv6 address is no part of both that reads the same. */
function readName(value: string | null): string | null {
  if (value === null || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value)) return value
  return refuse('publicName', value, 'it must be a host name or an IPv4 address, without scheme and port.')
}

function readPort(name: keyof Config, value: string): number {
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

function readHours(name: keyof Config, value: string): number {
  if (!/^\d{1,5}$/.test(value)) refuse(name, value, 'it must be a whole number of hours.')
  return Number(value) * 3600_000
}

function readRateLimits(value: string): Config['rateLimits'] {
  const match = /^([1-9]\d{0,8}),([1-9]\d{0,8}),([1-9]\d{0,8})$/.exec(value)
  if (!match) refuse('rateLimits', value, 'it must be three whole numbers such as 600,120,60.')
  const [reads = 0, writes = 0, anonymous = 0] = match.slice(1).map(Number)
  return { reads, writes, anonymous }
}

/** A bare address is a range of one. */
function readRanges(name: keyof Config, value: string): Config['webhookAllow'] {
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

/** Trusting everybody would let callers choose their address. */
function readProxies(value: string): string[] {
  return readRanges('trustProxy', value).map(({ address, prefix }) =>
    prefix === 0
      ? refuse('trustProxy', value, 'it must be a range of proxies only; /0 is everyone.')
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
