import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import { PREFIX } from '../contract/route.ts'

/** The console as it was built: a page, and the files that it loads, each with its hash in its name. */
export interface Pages {
  page: string
  files: ReadonlyMap<string, Asset>
}

interface Asset {
  type: string
  plain: Buffer
  /** The encoded content by the name of its encoding, the best first; fonts have none. */
  codings: readonly (readonly [name: string, bytes: Buffer])[]
}

const FILES = '/assets/'
const NONCE = '__NONCE__'
const OF_SERVICE = new RegExp(`^(${PREFIX}|/healthz|/readyz|${FILES.slice(0, -1)})([/?]|$)`)
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** Reads all into memory, a megabyte or two. @returns null if the folder has no console */
export function readPages(folder: string): Pages | null {
  const place = path.join(folder, 'assets')
  try {
    const page = readFileSync(path.join(folder, 'index.html'), 'utf8')
    const names = readdirSync(place)
    const files = names
      .filter((name) => types[path.extname(name)] !== undefined)
      .map((name): [string, Asset] => {
        const coded = ['br', 'gz'].filter((end) => names.includes(`${name}.${end}`))
        const codings = coded.map(
          (end) => [end === 'gz' ? 'gzip' : end, readFileSync(path.join(place, `${name}.${end}`))] as const,
        )
        const type = types[path.extname(name)] ?? 'application/octet-stream'
        return [FILES + name, { type, plain: readFileSync(path.join(place, name)), codings }]
      })
    return { page, files: new Map(files) }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/**
 * True if a browser requests a page of the console; only the console knows its addresses. Any other request, such as
 * one for a path that the API does not have, gets the reply that every client gets.
 */
export function isForPage({ method, url = '', headers }: IncomingMessage): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead || !headers.accept?.includes('text/html')) return false
  // A path with a file extension is a file or does not exist.
  const isFile = /\.\w+$/.test(url.split('?')[0] ?? '')
  return !isFile && !OF_SERVICE.test(url)
}

/**
 * Mounts the console at `/`; without a console, `/` redirects to the API's description. Its files never change and are
 * cached for ever; the page names them, and is not cached. The operator's logo may come from elsewhere.
 */
export function mountPages(
  http: FastifyInstance,
  pages: Pages | null,
  logoUrl: () => string | null = () => null,
): void {
  if (!pages) {
    http.get('/', async (_request, reply) => reply.redirect(`${PREFIX}/docs`))
    return
  }
  const { page, files } = pages
  http.get('/', { config: { isFree: true } }, async (_request, reply) => {
    const nonce = randomBytes(16).toString('base64')
    return reply
      .type('text/html; charset=utf-8')
      .headers({ 'cache-control': 'no-store', 'content-security-policy': policy(nonce, logoUrl()) })
      .send(page.replaceAll(NONCE, nonce))
  })
  for (const [url, { type, plain, codings }] of files)
    http.get(url, { config: { isFree: true } }, async ({ headers }, reply) => {
      const accepted = (headers['accept-encoding'] ?? '').split(',').map((name) => name.trim().split(';')[0])
      const [coding, bytes = plain] = codings.find(([name]) => accepted.includes(name)) ?? []
      if (coding !== undefined) reply.header('content-encoding', coding)
      return reply
        .type(type)
        .headers({ 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' })
        .send(bytes)
    })
}

/**
 * Only this server's files are allowed as scripts and styles; the nonce also allows the terminal emulator's
 * styles.
 */
const policy = (nonce: string, logoUrl: string | null) =>
  [
    "default-src 'self'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data:${logoUrl === null ? '' : ` ${new URL(logoUrl).origin}`}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
