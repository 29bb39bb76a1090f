import type { FastifyInstance } from 'fastify'
import { PREFIX } from './route.ts'

/**
 * Mounts the machine-readable schema and its viewer; neither needs a token. The viewer's assets come from this
 * server: it loads nothing from another host.
 */
export function mountDocs(http: FastifyInstance, document: object): void {
  http.get(`${PREFIX}/openapi.json`, async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=60').send(document),
  )
  http.get('/', async (_request, reply) => reply.redirect(`${PREFIX}/docs`))
  http.register(async (scope) => {
    const { default: viewer } = await import('@scalar/fastify-api-reference')
    await scope.register(viewer, {
      routePrefix: `${PREFIX}/docs`,
      configuration: {
        url: `${PREFIX}/openapi.json`,
        title: 'Berth API',
        withDefaultFonts: false,
        telemetry: false,
        hideClientButton: true,
        agent: { disabled: true },
        mcp: { disabled: true },
        showDeveloperTools: 'never',
      },
    })
  })
}
