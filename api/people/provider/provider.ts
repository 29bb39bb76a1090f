import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Configuration } from 'openid-client'
import type { Clock } from '../../clock.ts'
import type { ProviderSettings } from '../../config.ts'
import { CredentialRefused } from '../../http/contract/auth.ts'
import { ApiError, httpProblems } from '../../http/contract/problem.ts'
import { messageOf } from '../../message-of.ts'
import { boundedFetch, NoAnswer, requireSafe } from '../../outgoing.ts'
import { EMAIL, peopleProblems } from '../person/schema.ts'

/** The library is loaded on first use. */
const library = () => import('openid-client')

const TIMEOUT_S = 10
/** The time after which the provider's configuration is fetched again. */
const KNOWN_MS = 24 * 3600_000
const ADDRESS = new RegExp(EMAIL)

export interface ProviderOptions {
  clock: Clock
  log: Logger
  /** Address at which people open the console. */
  siteUrl: () => string
  provider: ProviderSettings
}

/** Values that the provider's answer must match. */
export interface Expected {
  state: string
  nonce: string
  verifier: string
}

/** A person, as the provider knows them. */
export interface Identity {
  issuer: string
  subject: string
  /** Null if the provider has not verified an address. */
  email: string | null
  name: string | null
}

/** The OpenID Connect provider of the operator's choice: authorization code, PKCE, state and nonce. */
export class Provider {
  readonly #options: ProviderOptions
  #known: { configuration: Promise<Configuration>; until: number } | null = null

  constructor(options: ProviderOptions) {
    this.#options = options
  }

  /** Host name of the provider, which people know it by. */
  get name(): string {
    return this.#options.provider.issuer.hostname
  }

  /** Address to which the provider sends people back. */
  get returnUrl(): string {
    return new URL('/sign-in/provider', this.#options.siteUrl()).href
  }

  /**
   * Begins a sign-in.
   * @returns the provider's page, and the values that only this browser may hold
   * @throws ApiError backend_unavailable
   */
  async begin(): Promise<{ url: string; expected: Expected }> {
    const { randomState, randomNonce, randomPKCECodeVerifier, ...made } = await library()
    const configuration = await this.#configuration()
    const expected = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
    const url = made.buildAuthorizationUrl(configuration, {
      redirect_uri: this.returnUrl,
      scope: 'openid email profile',
      state: expected.state,
      nonce: expected.nonce,
      code_challenge: await made.calculatePKCECodeChallenge(expected.verifier),
      code_challenge_method: 'S256',
    })
    return { url: requireSafe(url).href, expected }
  }

  /**
   * Completes a sign-in at the provider.
   * @param answer the query of the provider's redirect
   * @throws ApiError provider_refused, backend_unavailable
   */
  async finish(answer: string, { state, nonce, verifier }: Expected): Promise<Identity> {
    const configuration = await this.#configuration()
    const { authorizationCodeGrant, fetchUserInfo } = await library()
    const url = new URL(this.returnUrl)
    url.search = answer
    try {
      const tokens = await authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (!claims) throw this.#refused()
      // Many providers return the e-mail address only from the userinfo endpoint.
      const hasMore = claims.email === undefined && configuration.serverMetadata().userinfo_endpoint
      const more = hasMore ? await fetchUserInfo(configuration, tokens.access_token, claims.sub) : {}
      return this.#identityOf(claims, hasMore ? more : claims)
    } catch (error) {
      if (error instanceof ApiError) throw error
      if (isDown(error)) throw this.#down(error)
      this.#options.log.info({ reason: messageOf(error) }, 'a sign-in at the OpenID Connect provider failed')
      throw this.#refused()
    }
  }

  /** @param about the document with the address; only this document may say whether the address is verified */
  #identityOf(
    { iss, sub, ...claims }: { iss: string; sub: string } & Record<string, unknown>,
    about: Readonly<Record<string, unknown>>,
  ): Identity {
    // OpenID Connect Core, section 2, allows up to 255 ASCII characters.
    if (!/^[\x20-\x7e]{1,255}$/.test(sub)) throw this.#refused()
    const { email, email_verified: isVerified } = about
    const { name } = { ...about, ...claims }
    const isAddress = typeof email === 'string' && email.length <= 254 && ADDRESS.test(email)
    return {
      issuer: iss,
      subject: sub,
      email: isAddress && isVerified === true ? email : null,
      name: typeof name === 'string' ? name : null,
    }
  }

  /** The provider's configuration; simultaneous callers share one request. */
  async #configuration(): Promise<Configuration> {
    const now = this.#options.clock.now()
    if (!this.#known || this.#known.until <= now)
      this.#known = { configuration: this.#discover(), until: now + KNOWN_MS }
    const { configuration } = this.#known
    try {
      return await configuration
    } catch (error) {
      if (this.#known?.configuration === configuration) this.#known = null
      throw this.#down(error)
    }
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options.provider
    const { allowInsecureRequests, customFetch, discovery, enableNonRepudiationChecks, ...auth } =
      await library()
    // The client authentication that the provider supports; Basic is the default of the standard.
    const authenticate: typeof auth.None extends () => infer Auth ? Auth : never = (server, ...rest) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      if (clientSecret === null) return auth.None()(server, ...rest)
      const isBasic = methods.includes('client_secret_basic')
      const way = isBasic ? auth.ClientSecretBasic : auth.ClientSecretPost
      return way(clientSecret)(server, ...rest)
    }
    return discovery(issuer, clientId, undefined, authenticate, {
      timeout: TIMEOUT_S,
      [customFetch]: boundedFetch,
      execute: [
        enableNonRepudiationChecks,
        // boundedFetch decides which addresses need no TLS.
        ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : []),
      ],
    })
  }

  #down(error: unknown): ApiError {
    const { log, provider } = this.#options
    const reason = [messageOf(error), error instanceof Error && error.cause ? messageOf(error.cause) : '']
    log.warn({ issuer: provider.issuer.href, reason }, 'the OpenID Connect provider does not respond')
    return new ApiError(
      httpProblems.backend_unavailable,
      `${this.name} does not respond right now. Sign in with your password, or try again later.`,
      {},
      { 'retry-after': '30' },
    )
  }

  #refused(): ApiError {
    return new CredentialRefused(
      peopleProblems.provider_refused,
      `${this.name} did not confirm who you are. Start again on the sign-in page.`,
      null,
    )
  }
}

/** Returns the original error, because libraries wrap it. */
function isDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error instanceof NoAnswer || isDown(error.cause)
}
