import { fork } from 'node:child_process'
import { once } from 'node:events'
import { load } from './load.ts'

const TARGET_MS = 20
/** The largest number of bytes in a body. */
const BYTES = 256 * 1024

interface Ports {
  berth: number
  token: string
  order: object
}

/**
 * Measures how long the most expensive requests, one at a time, keep the service busy for everybody. Only the CPU time
 * of the service's thread counts, so that other programs don't matter: no turn of its loop can have taken longer.
 */
export async function benchRefusals(rounds: number): Promise<void> {
  const server = fork(new URL('./server.ts', import.meta.url), { execArgv: [] })
  try {
    const [ports] = (await once(server, 'message')) as [Ports] // the first message of bench/server.ts
    const spent = async () => {
      server.send('cpu')
      const [{ cpuMs }] = (await once(server, 'message')) as [{ cpuMs: number }] // the answer of bench/server.ts
      return cpuMs
    }
    const send = async (request: string, expect = 'HTTP/1.1 ') => {
      const before = await spent()
      await load({ connections: 1, requests: 1, port: ports.berth, expect, request: () => request })
      return (await spent()) - before
    }
    const plain = await worstOf(rounds * 4, () => send(write(ports.token, 'POST', '/account/projects', '{}')))
    console.log(`a plain refusal: ${plain.toFixed(1)} ms at worst`)
    const slow: string[] = []
    for (const [kind, request] of kinds(ports)) {
      const worst = await worstOf(rounds, () => send(request))
      if (worst > TARGET_MS) slow.push(kind)
      console.log(`${kind}: ${worst.toFixed(1)} ms at worst, ${(worst / plain).toFixed(1)} times a plain one`)
    }
    console.log(`over ${TARGET_MS} ms: ${slow.length === 0 ? 'none' : slow.join('; ')}`)
  } finally {
    server.disconnect()
    await once(server, 'exit')
  }
}

/** Returns the longest time of several rounds. The first round warms up. */
async function worstOf(rounds: number, send: () => Promise<number>): Promise<number> {
  await send()
  const times: number[] = []
  for (let round = 0; round < rounds; round++) times.push(await send())
  return Math.max(...times)
}

function write(token: string, method: string, path: string, body = '', headers: string[] = []): string {
  const head = [
    `${method} /v1${path} HTTP/1.1`,
    'host: bench',
    `authorization: Bearer ${token}`,
    ...headers,
    ...(body ? ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`] : []),
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** Returns a body with this many of these values, or as many as fit. */
function filled(before: string, item: (at: number) => string, after: string, most = Infinity): string {
  const items: string[] = []
  let size = before.length + after.length
  for (let next = item(0); items.length < most; next = item(items.length)) {
    size += Buffer.byteLength(next) + 1
    if (size > BYTES) break
    items.push(next)
  }
  return `${before}${items.join(',')}${after}`
}

const long = (unit: string) => unit.repeat(Math.floor((BYTES - 400) / Buffer.byteLength(unit)))
const nested = (open: string, close: string) => {
  const depth = Math.floor((BYTES - 20) / (open.length + close.length))
  return `${open.repeat(depth)}1${close.repeat(depth)}`
}

type Kind = [kind: string, request: string]

function kinds({ token, order }: Ports): Kind[] {
  const shapes = [...ofShape(), ...manyValues(order), ...longValues(order), ...publicKeys()]
  const bodies = shapes.map(([kind, path, body]): Kind => [kind, write(token, 'POST', path, body)])
  const keyed = write(token, 'POST', '/account/projects', nested('[', ']'), ['idempotency-key: bench'])
  return [
    ...bodies,
    ['arrays in arrays, with an Idempotency-Key', keyed],
    ...queries(token),
    ...heads(token),
    ...headers(token),
    ...plainReads(token),
    ...tinyChunks(token),
  ]
}

type Body = [kind: string, path: string, body: string]
const [PROJECTS, KEYS, TOKENS, SERVERS] = [
  '/account/projects',
  '/account/ssh_keys',
  '/account/tokens',
  '/servers',
] as const

function ofShape(): Body[] {
  return [
    ['256 KiB of arrays in arrays', PROJECTS, nested('[', ']')],
    ['256 KiB of objects in objects', PROJECTS, nested('{"a":', '}')],
    ['a name of arrays in arrays', PROJECTS, `{"name":${nested('[', ']').slice(10, -10)}}`],
    ['256 KiB of open brackets', PROJECTS, '['.repeat(BYTES)],
    ['256 KiB and one byte', PROJECTS, ' '.repeat(BYTES + 1)],
    ['a JSON text that ends too early', PROJECTS, `{"name":"${long('x')}`],
    ['escapes, 40,000', PROJECTS, `{"name":"${long('\\u0061')}"}`],
  ]
}

/** Each input once as large as a body may be, and once with the largest number of values that are checked. */
function manyValues(order: object): Body[] {
  const member = (name: string) => `${JSON.stringify(order).slice(0, -1)},${JSON.stringify(name)}:`
  const [labels, keys, scopes] = [
    `${member('labels')}{`,
    `${member('ssh_key_ids')}[`,
    '{"name":"x","scopes":[',
  ]
  const id = '"01a1fb45-1ab5-76a6-be1c-72070ab457ce"'
  const short = (at: number) => at.toString(36)
  return [Infinity, 980].flatMap((most): Body[] => {
    const all = (before: string, item: (at: number) => string, after: string) =>
      filled(before, item, after, most)
    const bodies: Body[] = [
      ['unknown fields', PROJECTS, all('{', (at) => `"${short(at)}":1`, '}')],
      ['unknown fields of 250 bytes', SERVERS, all('{', (at) => `"${'name_'.repeat(50)}${at}":1`, '}')],
      ['one field again and again', PROJECTS, all('{', () => '"name":""', '}')],
      ['labels of the wrong type', SERVERS, all(labels, (at) => `"${short(at)}":1`, '}}')],
      ['labels with wrong names', SERVERS, all(labels, (at) => `"-${short(at)}":""`, '}}')],
      ['labels that are too long', SERVERS, all(labels, (at) => `"a${at}":"${'x'.repeat(240)}"`, '}}')],
      ['invalid SSH keys of a server', SERVERS, all(keys, String, ']}')],
      ['the same SSH key again and again', SERVERS, all(keys, () => id, ']}')],
      ['unknown scopes', TOKENS, all(scopes, (at) => `"${short(at)}"`, ']}')],
      ['scopes that are objects', TOKENS, all(scopes, (at) => `{"a":${at}}`, ']}')],
      ['the same scope again and again', TOKENS, all(scopes, () => '"read"', ']}')],
    ]
    return bodies.map(([kind, ...rest]) => [`${kind}, ${most === Infinity ? '256 KiB' : most}`, ...rest])
  })
}

function longValues(order: object): Body[] {
  const ordered = (fields: object) => JSON.stringify({ ...order, ...fields })
  const named = (name: string) => JSON.stringify({ name })
  const token = (expires_at: string) => JSON.stringify({ name: 'x', scopes: ['read'], expires_at })
  return [
    ['one unknown field of 256 KiB', SERVERS, `{"${long('description')}":1}`],
    ['a label name of 256 KiB', SERVERS, ordered({ labels: { [`${long('a')}-`]: 'x' } })],
    ['a name of 256 KiB of spaces', PROJECTS, named(long(' '))],
    ['a name of 256 KiB of combining marks', PROJECTS, named(long('\u0301'))],
    ['a name of 256 KiB of emoji', PROJECTS, named(long('👩'))],
    ['a name with a control character at its end', PROJECTS, named(`${long('x')}\u0007`)],
    ['a host name of 256 KiB of dashes', SERVERS, ordered({ name: `a${long('-')}` })],
    ['a host name that ends wrongly', SERVERS, ordered({ name: `${long('a-')}!` })],
    ['user data of 256 KiB', SERVERS, ordered({ user_data: long('x') })],
    ['a zone of 256 KiB', SERVERS, ordered({ zone_slug: long('z') })],
    ['an id of 256 KiB', SERVERS, ordered({ project_id: long('0') })],
    ['a number of 256 KiB', SERVERS, ordered({ cpu: '@' }).replace('"@"', long('9'))],
    ['an expiry of 256 KiB', TOKENS, token(long('2030-01-01T'))],
    ['an expiry of digits', TOKENS, token(`2030-01-01T00:00:00.${long('0')}`)],
  ]
}

function publicKeys(): Body[] {
  const zeros = Buffer.alloc(12_000).toString('base64')
  const keys: [kind: string, public_key: string][] = [
    ['a public key of 256 KiB', `ssh-ed25519 ${long('A')}`],
    ['a public key of padding', `ssh-ed25519 ${'='.repeat(16_000)}x`],
    ['a public key of blanks', `ssh-ed25519${' \t'.repeat(8_000)}x y z`],
    ['a public key of lines', `ssh-ed25519 ${'A\n'.repeat(8_000)}`],
    ['an RSA key of 96,000 bits', rsa(11_900)],
    ['an RSA key with an exponent as long', rsa(6_000, 5_900)],
    ['an RSA key of empty strings', `ssh-rsa ${zeros}`],
    ['a security key of empty strings', `sk-ssh-ed25519@openssh.com ${zeros}`],
  ]
  return keys.map(([kind, public_key]) => [kind, KEYS, JSON.stringify({ name: 'x', public_key })])
}

function queries(token: string): Kind[] {
  const many = (part: (at: number) => string) =>
    Array.from({ length: 15_000 }, (_, at) => part(at))
      .join('&')
      .slice(0, 15_000)
  const all: [kind: string, query: string][] = [
    ['a label filter of 15 KB', `limit=0&label=${'a'.repeat(15_000)}%3D%0A`],
    ['a label filter of equals signs', `limit=0&label=a${'='.repeat(15_000)}%0A`],
    ['query parameters, thousands', `limit=0&${many((at) => at.toString(36))}`],
    ['one parameter a thousand times', many(() => 'limit=1')],
    ['parameters of percent signs', `limit=0&${many(() => '%25')}`],
    ['a broken percent-encoding', `limit=${'%zz'.repeat(5_000)}`],
    ['a sort of 15 KB', `sort=${'-name'.repeat(3_000)}`],
  ]
  return all.map(([kind, query]) => [kind, write(token, 'GET', `/servers?${query}`)])
}

function heads(token: string): Kind[] {
  const get = (path: string, headers: string[] = [], as = token) => write(as, 'GET', path, '', headers)
  const post = (header: string, body: string) => write(token, 'POST', PROJECTS, body, [header])
  const thousand = Array.from({ length: 1_500 }, (_, at) => `x${at}: 1`)
  return [
    ['an id of 255 characters', get(`/servers/${'x'.repeat(255)}`)],
    ['an id of 15 KB', get(`/servers/${'0'.repeat(15_000)}/details`)],
    ['a path of 15 KB of slashes', get('/'.repeat(15_000))],
    ['a path of percent-encoded bytes', get(`/servers/${'%F0%9F%98%80'.repeat(1_200)}`)],
    ['a path with a broken percent-encoding', get(`/servers/${'%zz'.repeat(5_000)}`)],
    ['a token of 15 KB', get('/zones', [], 'x'.repeat(15_000))],
    ['a token of blanks', get('/zones', [], `${' '.repeat(14_000)}x y`)],
    ['an Idempotency-Key of 256 characters', post(`idempotency-key: ${'k'.repeat(256)}`, '{}')],
    [
      'a content type of 15 KB',
      `${post(`content-type: ${'a/b;c='.repeat(2_500)}\r\ncontent-length: 2`, '')}{}`,
    ],
    ['headers of 16 KiB', get('/zones', [`x: ${'y'.repeat(17_000)}`])],
    ['a thousand headers', get('/zones', thousand, 'none')],
    ['bytes that are not HTTP', '\u0000'.repeat(10_000)],
  ]
}

const HEADERS = [
  ...['accept', 'accept-encoding', 'accept-language', 'authorization', 'connection', 'content-encoding'],
  ...['content-length', 'content-type', 'cookie', 'expect', 'forwarded', 'from', 'host', 'if-match'],
  ...[
    'if-modified-since',
    'if-none-match',
    'if-range',
    'idempotency-key',
    'last-event-id',
    'origin',
    'range',
  ],
  ...['referer', 'te', 'traceparent', 'tracestate', 'transfer-encoding', 'upgrade', 'user-agent', 'via'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-request-id', 'x-http-method-override'],
]
/** Inputs that header parsers may be slow at: the repeated beginning of a valid value. */
const FILLERS: [of: string, text: (length: number) => string][] = [
  ['blanks', (length) => `application/json;${' '.repeat(length)}charset`],
  ['commas', (length) => `a${','.repeat(length)}`],
  ['tags', (length) => 'W/"a", '.repeat(length / 7)],
  ['semicolons', (length) => `application/json${';'.repeat(length)}charset=utf-8`],
  ['open quotes', (length) => `application/json;charset="${'\\"'.repeat(length / 2)}`],
  ['parameters', (length) => `application/json;charset=utf-8${';a=b'.repeat(length / 4)}`],
  ['digits', (length) => '9'.repeat(length)],
  ['addresses', (length) => `1.2.3.4${', 1.2.3.4'.repeat(length / 9)}`],
  ['colons', (length) => ':'.repeat(length)],
]

/** Every header with as much as a request may have, and with twice that. */
function headers(token: string): Kind[] {
  return HEADERS.flatMap((name) =>
    FILLERS.flatMap(([of, text]) =>
      [15_000, 32_000].map((length): Kind => {
        const all = new Map([
          ['host', 'bench'],
          ['authorization', `Bearer ${token}`],
          ['content-type', 'application/json'],
          ['content-length', '2'],
          [name, text(length)],
        ])
        const lines = [...all].map(([header, value]) => `${header}: ${value}\r\n`)
        const request = `POST /v1/account/projects HTTP/1.1\r\n${lines.join('')}\r\n{}`
        return [`${name} of ${length / 1000} KB of ${of}`, request]
      }),
    ),
  )
}

/** Inputs that the service accepts. */
function plainReads(token: string): Kind[] {
  const paths = ['/openapi.json', '/docs', '/zones', '/pricing/capacity', '/servers?limit=200']
  return paths.map((path) => [`GET ${path}`, write(token, 'GET', path)])
}

/** Returns bodies that arrive in pieces of one byte. */
function tinyChunks(token: string): Kind[] {
  const head = write(token, 'POST', PROJECTS, '', [
    'transfer-encoding: chunked',
    'content-type: application/json',
  ])
  return [
    ['chunks of a byte', `${head}${'1\r\nx\r\n'.repeat(40_000)}0\r\n\r\n`],
    [
      'chunks of a byte that are not a JSON body',
      `${head.replace('/json', '/xml')}${'1\r\nx\r\n'.repeat(40_000)}0\r\n\r\n`,
    ],
  ]
}

/** An ssh-rsa line whose numbers have this many bytes. */
function rsa(modulus: number, exponent = 3): string {
  const pack = (bytes: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return [length, bytes]
  }
  const odd = (length: number) => Buffer.alloc(length, 0x7f)
  const parts = [Buffer.from('ssh-rsa'), odd(exponent), odd(modulus)].flatMap(pack)
  return `ssh-rsa ${Buffer.concat(parts).toString('base64')}`
}
