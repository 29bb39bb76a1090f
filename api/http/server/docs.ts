import { hash } from 'node:crypto'
import Fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify'
import { PREFIX, type Route } from '../contract/route.ts'

/** Paths that are open to all. They are not among the routes and take only GET. */
export const openPaths: readonly Pick<Route, 'path'>[] = [{ path: '/docs' }, { path: '/openapi.json' }]

/**
 * Mounts the machine-readable schema and its viewer; neither needs a token. The viewer's assets come from this
 * server: it loads nothing from another host.
 * @param describe builds the document; the first request calls it, since most processes never get such a request
 */
export function mountDocs(http: FastifyInstance, describe: () => object): void {
  // It has a megabyte: serializing it for each request would delay all others.
  let text: Buffer | null = null
  http.get(`${PREFIX}/openapi.json`, async (_request, reply) => {
    text ??= Buffer.from(JSON.stringify(describe()))
    return reply
      .type('application/json; charset=utf-8')
      .header('cache-control', 'public, max-age=60')
      .send(text)
  })
  // The viewer has 4 MB of scripts, so it is loaded with the first request for it.
  let viewer: Promise<FastifyInstance> | null = null
  const show: RouteHandlerMethod = async (request, reply) => {
    viewer ??= openViewer()
    const { statusCode, headers, rawPayload } = await (await viewer).inject({
      method: 'GET',
      url: request.url,
    })
    if (statusCode >= 500) throw new Error(`the viewer failed: ${rawPayload}`)
    // This is the reply of this server for every path that does not exist.
    if (statusCode >= 400 && statusCode < 500) return reply.callNotFound()
    const { 'content-type': type = 'text/html', location } = headers
    if (typeof location === 'string') reply.header('location', location)
    reply.code(statusCode).header('content-type', type)
    if (!type.startsWith('text/html')) return reply.send(rawPayload)
    // Without an icon, browsers request /favicon.ico and report that it is missing.
    const page = rawPayload.toString().replace('<head>', '<head><link rel="icon" href="data:,">')
    return reply.header('content-security-policy', policyOf(page)).send(page)
  }
  http.get(`${PREFIX}/docs`, show)
  http.get(`${PREFIX}/docs/*`, show)
}

/** The viewer may run its own scripts and the inline scripts of its page, and may only connect to this server. */
function policyOf(page: string): string {
  const inline = [...page.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)]
  const hashes = inline.map(([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`)
  return [
    "default-src 'self'",
    `script-src 'self' ${hashes.join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "worker-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** A separate small server, which does not listen, and whose replies are passed on. */
async function openViewer(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const viewer: FastifyInstance = Fastify()
  await viewer.register(scalar, {
    routePrefix: `${PREFIX}/docs`,
    configuration: {
      url: `${PREFIX}/openapi.json`,
      pageTitle: 'Berth API',
      metaData: { title: 'Berth API' },
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
    },
  })
  return viewer
}
