import { execFile } from 'node:child_process'
import type { Clock } from '../clock.ts'
import type { NameServerSettings } from '../config.ts'
import { boundedFetch, NoAnswer } from '../outgoing.ts'

const TTL_S = 3600
const PATIENCE_MS = 10_000
/** The records of one turn share the replies about zones. */
const ZONES_KNOWN_MS = 60_000
/** Labels of the host part of an IPv6 name: each customer has a whole /64, so no zone begins within one. */
const HOST_LABELS = 16

/** A name server refuses a record. The message says why, for the operator. */
export class RecordRefused extends Error {}

/** A name server to which reverse DNS names are sent. */
export interface NameServer {
  /** Its name, without the key. */
  readonly place: string
  /**
   * Sets the only PTR record of a name, or deletes it if the target is null.
   * @param name a name below in-addr.arpa. or ip6.arpa., with a dot at the end
   * @throws NoAnswer, RecordRefused
   */
  set(name: string, target: string | null): Promise<void>
}

export function openNameServer(settings: NameServerSettings, clock: Clock): NameServer {
  return settings.kind === 'pdns' ? new PowerDns(settings, clock) : new Rfc2136(settings)
}

/** Sends records through PowerDNS's HTTP API, to the longest of its zones that contains the name. */
class PowerDns implements NameServer {
  readonly place: string
  readonly #api: string
  readonly #key: string
  readonly #clock: Clock
  readonly #hasZone = new Map<string, boolean>()
  #forgetAt = 0

  constructor({ url, key }: Extract<NameServerSettings, { kind: 'pdns' }>, clock: Clock) {
    this.#clock = clock
    this.place = `pdns ${url.host}`
    this.#api = `${url.href.replace(/\/+$/, '')}/api/v1/servers/localhost/zones`
    this.#key = key
  }

  async set(name: string, target: string | null): Promise<void> {
    const zone = await this.#zoneOf(name)
    const records = target === null ? [] : [{ content: `${target}.`, disabled: false }]
    const changetype = target === null ? 'DELETE' : 'REPLACE'
    const body = JSON.stringify({ rrsets: [{ name, type: 'PTR', ttl: TTL_S, changetype, records }] })
    const response = await this.#call(`/${zone}`, { method: 'PATCH', body })
    if (response.ok) return
    throw new RecordRefused(`PowerDNS replied ${response.status}: ${await faultIn(response)}`)
  }

  /** @throws RecordRefused if it has no zone for the name */
  async #zoneOf(name: string): Promise<string> {
    const labels = name.split('.')
    const first = name.endsWith('.ip6.arpa.') ? HOST_LABELS : 1
    // The shortest delegated zone, such as 192.in-addr.arpa., splits into four parts.
    for (let at = first; at <= labels.length - 4; at++) {
      const zone = labels.slice(at).join('.')
      if (await this.#has(zone)) return zone
    }
    throw new RecordRefused(`PowerDNS has no zone for ${name}`)
  }

  async #has(zone: string): Promise<boolean> {
    if (this.#clock.now() >= this.#forgetAt) {
      this.#hasZone.clear()
      this.#forgetAt = this.#clock.now() + ZONES_KNOWN_MS
    }
    const known = this.#hasZone.get(zone)
    if (known !== undefined) return known
    const response = await this.#call(`?zone=${zone}&dnssec=false`, {})
    if (!response.ok)
      throw new RecordRefused(`PowerDNS replied ${response.status}: ${await faultIn(response)}`)
    const found: unknown = await response.json().catch(() => null)
    const has = Array.isArray(found) && found.length > 0
    this.#hasZone.set(zone, has)
    return has
  }

  async #call(path: string, options: { method?: string; body?: string }): Promise<Response> {
    const [late, isDone] = [new AbortController(), new AbortController()]
    void this.#clock.sleep(PATIENCE_MS, isDone.signal).then(() => late.abort())
    const response = await boundedFetch(`${this.#api}${path}`, {
      ...options,
      headers: { 'x-api-key': this.#key, 'content-type': 'application/json' },
      redirect: 'error',
      signal: late.signal,
    }).finally(() => isDone.abort())
    // With a wrong key, other records would fail too.
    if (response.status === 401 || response.status === 403) throw new NoAnswer('PowerDNS refuses the key')
    return response
  }
}

async function faultIn(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null)
  const isTold = typeof body === 'object' && body !== null && 'error' in body
  return isTold ? String(body.error).slice(0, 200) : 'no reason given'
}

/** Replies by which a name server refuses an update. */
const REFUSED = /\b(REFUSED|NOTAUTH|NOTZONE|NXDOMAIN|SERVFAIL|FORMERR|NOTIMP|BADSIG|BADKEY|BADTIME)\b/
/**
 * Messages of `nsupdate` if no name server was reached. Any other error concerns one record, which must not
 * delay the others.
 */
const NOT_REACHED = /timed out|timeout|unreachable|refused|not reach|not be reached|cancell?ed|end of file/i

/**
 * Sends dynamic updates, signed with TSIG, to any name server through BIND's `nsupdate`, which finds the zone
 * itself.
 */
class Rfc2136 implements NameServer {
  readonly place: string
  readonly #settings: Extract<NameServerSettings, { kind: 'rfc2136' }>

  constructor(settings: Extract<NameServerSettings, { kind: 'rfc2136' }>) {
    this.place = `rfc2136 ${settings.server}`
    this.#settings = settings
  }

  set(name: string, target: string | null): Promise<void> {
    const { server, key } = this.#settings
    const [, secret = key] = key.split(' ')
    const script = [
      `server ${server}`,
      `key ${key}`,
      `update delete ${name} PTR`,
      ...(target === null ? [] : [`update add ${name} ${TTL_S} PTR ${target}.`]),
      ...['send', 'quit', ''],
    ].join('\n')
    return new Promise((resolve, reject) => {
      // The script, which has the key, is not on the command line, where others could read it.
      const options = { timeout: 2 * PATIENCE_MS, env: { PATH: process.env.PATH } }
      const running = execFile('nsupdate', ['-v', '-t', '10'], options, (error, _, stderr) => {
        if (!error) return resolve()
        const said = stderr.replaceAll(secret, '…').trim().split('\n').slice(-2).join(' ').slice(0, 200)
        const isAboutRecord = typeof error.code === 'number' && said !== '' && !NOT_REACHED.test(said)
        if (REFUSED.test(said) || isAboutRecord)
          return reject(new RecordRefused(`${server} refuses: ${said}`))
        const reason = said || 'nsupdate can not be run: is bind9-dnsutils installed?'
        reject(new NoAnswer(`${server} can't be reached: ${reason}`))
      })
      // If `nsupdate` ends before it has read everything, its exit code says why.
      running.stdin?.on('error', () => {}).end(script)
    })
  }
}
