import { brotliCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'

const script = Buffer.from('console.log(1)')
const pages = {
  page: '<!doctype html><meta property="csp-nonce" nonce="__NONCE__"><title>Berth</title>',
  files: new Map([
    [
      '/assets/index-1.js',
      {
        type: 'text/javascript; charset=utf-8',
        plain: script,
        codings: [['br', brotliCompressSync(script)] as const],
      },
    ],
  ]),
}

async function browser() {
  const t = await testApp({ pages })
  const open = (url: string, headers: Record<string, string> = { accept: 'text/html,*/*;q=0.8' }) =>
    t.app.http.inject({ method: 'GET', url, headers })
  return { t, open }
}

test('a browser gets the console at every address that is not the API’s, and never an old page', async () => {
  const { open } = await browser()
  const nonces = new Set<string>()
  for (const url of ['/', '/servers', '/servers/new?zone=1', '/sign-in', '/v1x']) {
    const { statusCode, headers, body } = await open(url)
    expect([url, statusCode, headers['content-type']]).toEqual([url, 200, 'text/html; charset=utf-8'])
    expect(headers['cache-control']).toBe('no-store')
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'self'; script-src 'self'; style-src 'self' 'nonce-[^']+'; /)
    expect(policy).toContain("frame-ancestors 'none'")
    const [, nonce = ''] = /nonce="([^"]+)"/.exec(body) ?? []
    expect(policy).toContain(`'nonce-${nonce}'`)
    nonces.add(nonce)
  }
  expect(nonces.size).toBe(5)
})

test('replies of the API are the same with a console, also for a browser', async () => {
  const { t, open } = await browser()
  for (const url of ['/v1/nothing', '/v1/zones', '/v1', '/healthz/x', '/assets/gone.js', '/favicon.ico']) {
    const { statusCode, headers } = await open(url)
    expect([url, statusCode >= 400]).toEqual([url, true])
    expect(headers['content-type']).toContain('application/problem+json')
  }
  expect((await open('/v1/docs/')).body).toContain('Berth API')
  expect((await open('/v1/openapi.json')).headers['content-type']).toContain('application/json')
  expect((await open('/healthz')).json()).toEqual({ status: 'ok' })
  const program = await t.app.http.inject({ method: 'GET', url: '/servers' })
  expect([program.statusCode, program.json().code]).toEqual([404, 'route_not_found'])
  const written = await t.app.http.inject({ method: 'POST', url: '/', headers: { accept: 'text/html' } })
  expect(written.statusCode).toBe(404)
})

test('its files are compressed once, and cached for ever', async () => {
  const { open } = await browser()
  const coded = await open('/assets/index-1.js', { 'accept-encoding': 'gzip, deflate, br' })
  expect(coded.headers).toMatchObject({
    'content-encoding': 'br',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
  })
  const plain = await open('/assets/index-1.js', {})
  expect([plain.headers['content-encoding'], plain.body]).toEqual([undefined, String(script)])
})
