import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Bucket } from '../config.ts'

const REGION = 'eu-test-1'
const ACCESS = 'AKIDEXAMPLE'
const SECRET = 'secret/with+signs'
/** Pages of a list are short, so that tests see several. */
const PAGE = 2

/** For tests: an S3 server with one bucket, which checks the signature (AWS SigV4) and the hash of each request. */
export class TestBucket {
  readonly objects = new Map<string, Buffer>()
  /** The requests that were answered, such as "PUT one/part". */
  readonly seen: string[] = []
  /** The statuses of the next replies; after that, normal ones. */
  statuses: number[] = []
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response))

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  close(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }

  /** @param prefix the folder in the bucket, with a slash before it */
  place(prefix = ''): Bucket {
    // It listens on TCP, so the address is not a path.
    const { port } = this.#server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/copies${prefix}`
    return { url, region: REGION, accessKeyId: ACCESS, secretAccessKey: SECRET }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://server')
    const [, bucket, ...rest] = pathname.split('/')
    const key = decodeURIComponent(rest.join('/'))
    const status = this.statuses.shift()
    const end = (code: number, text: string | Buffer = '') => response.writeHead(code).end(text)
    const refuse = (code: number, name: string) => end(code, `<Error><Code>${name}</Code></Error>`)
    if (status) return void refuse(status, 'Ordered')
    if (signatureOf(request, body) !== /Signature=(\w+)/.exec(request.headers.authorization ?? '')?.[1])
      return void refuse(403, 'SignatureDoesNotMatch')
    if (bucket !== 'copies') return void refuse(404, 'NoSuchBucket')
    this.seen.push(`${request.method} ${key}`)
    if (key === '') return void end(200, this.#list(searchParams))
    if (request.method === 'PUT') {
      this.objects.set(key, body)
      return void end(200)
    }
    if (request.method === 'DELETE') {
      this.objects.delete(key)
      return void end(204)
    }
    const found = this.objects.get(key)
    return void (found ? end(200, found) : refuse(404, 'NoSuchKey'))
  }

  #list(query: URLSearchParams): string {
    const prefix = query.get('prefix') ?? ''
    const names = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => prefix + key.slice(prefix.length).replace(/\/.*/, '/'))
    const all = [...new Set(names)].sort()
    const from = Number(query.get('continuation-token') ?? 0)
    const rows = all
      .slice(from, from + PAGE)
      .map((name) =>
        name.endsWith('/')
          ? `<CommonPrefixes><Prefix>${encodeURIComponent(name)}</Prefix></CommonPrefixes>`
          : `<Contents><Key>${encodeURIComponent(name)}</Key></Contents>`,
      )
    const more =
      from + PAGE < all.length ? `<NextContinuationToken>${from + PAGE}</NextContinuationToken>` : ''
    return `<ListBucketResult><Prefix>${encodeURIComponent(prefix)}</Prefix>${rows.join('')}${more}</ListBucketResult>`
  }
}

/** Computes the signature that a request should have; '' if its content does not match its hash. */
function signatureOf({ method = '', url = '', headers }: IncomingMessage, body: Buffer): string {
  const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex')
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  if (headers['x-amz-content-sha256'] !== sha256(body)) return ''
  const signed = /SignedHeaders=([\w;-]+)/.exec(headers.authorization ?? '')?.[1] ?? ''
  const [path = '', query = ''] = url.split('?')
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const sorted = query
    .split('&')
    .map((pair) => pair.replaceAll('+', '%20'))
    .sort()
    .join('&')
  const canonical = [method, path, sorted, lines.join(''), signed, sha256(body)].join('\n')
  const time = String(headers['x-amz-date'])
  const scope = [time.slice(0, 8), REGION, 's3', 'aws4_request']
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n')
  const key = scope.reduce<string | Buffer>((previous, part) => hmac(previous, part), `AWS4${SECRET}`)
  return hmac(key, text).toString('hex')
}
