import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
// @ts-expect-error it brings no types
import { Provider } from 'oidc-provider'
import { onTestFinished } from 'vitest'
import { SITE } from '../../harness/app.ts'

/** The provider's facts about a person, by their name there. */
type Claims = Readonly<Record<string, unknown>>

/** Starts a local server whose answers the test sets. */
export async function answering() {
  let answer: RequestListener = (_request, response) => response.writeHead(500).end()
  const server = createServer((request, response) => answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // listening, at a port
  const issuer = new URL(`http://127.0.0.1:${port}`)
  const set = (listener: RequestListener) => {
    answer = listener
  }
  return { oidc: { issuer, clientId: 'berth', clientSecret: 'hush' }, set }
}

/**
 * A real provider, whose people need no password there.
 * @param site returns the address of the console; it is called with the first request
 * @param hasFullTokens true if ID tokens contain claims too, and not only the document of `userinfo`
 */
export async function openProvider(site = () => SITE, hasFullTokens = false) {
  const { oidc, set } = await answering()
  const people = new Map<string, Claims>()
  let current = ''
  let made: ReturnType<typeof makeProvider> | null = null
  const serve: RequestListener = (request, response) => {
    made ??= makeProvider({ issuer: oidc.issuer.origin, site: site(), hasFullTokens }, people)
    if (request.url !== '/interaction') return made.callback(request, response)
    return made.signIn(request, response, current)
  }
  set(serve)
  const be = (subject: string) => {
    current = subject
  }
  return {
    oidc,
    people,
    stop: () => set((request: IncomingMessage) => request.destroy()),
    start: () => set(serve),
    /** The person that every browser is signed in as from here on. */
    be,
    /** Signs a person in at the provider. @returns the query that their browser is sent back with */
    visit: (url: string, subject: string) => {
      be(subject)
      return follow(url)
    },
  }
}

function makeProvider(
  { issuer, site, hasFullTokens }: { issuer: string; site: string; hasFullTokens: boolean },
  people: ReadonlyMap<string, Claims>,
) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const client = {
    client_secret: 'hush',
    redirect_uris: [`${site}/sign-in/provider`],
    id_token_signed_response_alg: 'ES256',
  }
  const provider = new Provider(issuer, {
    clients: [
      { ...client, client_id: 'berth' },
      { ...client, client_id: 'other' },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'key' }] },
    cookies: { keys: ['a key of this test'] },
    conformIdTokenClaims: !hasFullTokens,
    claims: { email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    interactions: { url: () => '/interaction' },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: (use: 'id_token' | 'userinfo') => ({
        ...{ sub: accountId, ...people.get(accountId) },
        ...people.get(`${accountId} in ${use}`),
      }),
    }),
    loadExistingGrant: ({ oidc: asked }: { oidc: Asked }) => grant(asked),
  })
  const grant = async ({ client: { clientId }, session: { accountId } }: Asked) => {
    const given = new provider.Grant({ clientId, accountId })
    given.addOIDCScope('openid email profile')
    await given.save()
    return given
  }
  const callback: RequestListener = provider.callback()
  return {
    callback,
    signIn: (request: IncomingMessage, response: ServerResponse, accountId: string) =>
      provider.interactionFinished(request, response, { login: { accountId } }),
  }
}

/** The properties of the provider's own types that the tests use. */
interface Asked {
  client: { clientId: string }
  session: { accountId: string }
}

/** Follows redirects like a browser, until they lead back to the service. */
async function follow(start: string): Promise<string> {
  const jar = new Map<string, string>()
  let url = new URL(start)
  while (url.origin !== SITE) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const reply = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const set of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      jar.set(name, value)
    }
    const next = reply.headers.get('location')
    if (next === null) throw new Error(`the provider replied ${reply.status}: ${await reply.text()}`)
    url = new URL(next, url)
  }
  return url.search.slice(1)
}
