/** The most bytes that are read of a reply. */
const MOST_BYTES = 256 * 1024

/** A service of others does not answer, or its answer is invalid. */
export class NoAnswer extends Error {}

/** Allows addresses with TLS, and those of this machine. @throws NoAnswer */
export function requireSafe(url: URL): URL {
  const { protocol, hostname } = url
  const isLocal = protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)
  if (protocol === 'https:' || isLocal) return url
  throw new NoAnswer(`${url.origin} is not reached by TLS`)
}

/** Sends a request to a service that the operator chose. @throws NoAnswer also for replies of 500 and above */
export async function boundedFetch(url: string, options: object): Promise<Response> {
  requireSafe(new URL(url))
  try {
    const response = await fetch(url, options)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > MOST_BYTES) throw new NoAnswer(`${url} sent more than ${MOST_BYTES} bytes`)
      chunks.push(chunk)
    }
    const { status, headers } = response
    if (status >= 500) throw new NoAnswer(`${url} replied ${status}`)
    return new Response(size > 0 ? Buffer.concat(chunks) : null, { status, headers })
  } catch (error) {
    if (error instanceof NoAnswer) throw error
    throw new NoAnswer(`${url} can't be reached`, { cause: error })
  }
}
