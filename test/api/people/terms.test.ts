// The hoster's name, logo and terms on the pages of people who sign up.
import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { catalogText, testApp } from '../../harness/app.ts'
import { linkTo, openBrowser, PASSWORD } from '../harness/browser.ts'
import { openProvider } from '../harness/provider.ts'

const terms = { url: 'https://example.com/terms', version: '2026-11' }
const catalog = parseCatalog(
  `${catalogText}
operator:
  name: Example Cloud
  logo_url: https://static.example.com/logo.svg
  terms: { url: ${terms.url}, version: ${terms.version} }
`,
  'catalog.yaml',
)

test('a person who signs up accepts the terms in force, and the version and time are kept', async () => {
  const t = await testApp({ catalog })
  const { call } = openBrowser(t)
  const { operator } = (await call('GET', '/sign-in/options')).body
  expect(operator).toMatchObject({ name: 'Example Cloud', contact: null, terms })
  await call('POST', '/sign-up', { email: 'ann@example.com' })
  const body = { token: await linkTo(t, 'ann@example.com'), name: 'Ann', password: PASSWORD }
  for (const accepted of [{}, { accepted_terms: '2025-01' }]) {
    const refused = await call('POST', '/sign-up/complete', { ...body, ...accepted })
    expect([refused.status, refused.body.code]).toEqual([409, 'terms_not_accepted'])
    expect(refused.body.detail).toContain(terms.url)
  }
  const done = await call('POST', '/sign-up/complete', { ...body, accepted_terms: terms.version })
  expect(done.status).toBe(200)
  const [row] = await t.db.selectFrom('people').selectAll().execute()
  expect(row).toMatchObject({ terms_version: '2026-11', terms_accepted_at: t.clock.now() })
})

test('people who are invited or come by the provider accept the terms too', async () => {
  const provider = await openProvider()
  provider.people.set('bob', { email: 'bob@example.com', email_verified: true, name: 'Bob' })
  const t = await testApp({ catalog, oidc: provider.oidc })
  await t.call('POST', '/account/invitations', { email: 'eve@example.com', role: 'viewer' })
  const invited = { token: await linkTo(t, 'eve@example.com'), name: 'Eve', password: PASSWORD }
  const accept = (more: object) => openBrowser(t).call('POST', '/invitations/accept', { ...invited, ...more })
  expect((await accept({})).body.code).toBe('terms_not_accepted')
  expect((await accept({ accepted_terms: terms.version })).status).toBe(200)
  const enter = async (more: object) => {
    const { call } = openBrowser(t)
    const { url, ticket } = (await call('POST', '/sign-in/provider/begin')).body
    const answer = await provider.visit(url, 'bob')
    return call('POST', '/sign-in/provider', { ticket, answer, ...more })
  }
  expect((await enter({})).body.code).toBe('terms_not_accepted')
  expect((await enter({ accepted_terms: terms.version })).status).toBe(200)
  // Somebody who has signed up is not asked again.
  expect((await enter({})).status).toBe(200)
  const versions = await t.db.selectFrom('people').select('terms_version').execute()
  expect(versions).toEqual([{ terms_version: '2026-11' }, { terms_version: '2026-11' }])
})

test('a person of earlier terms is asked to accept those in force, and tokens work meanwhile', async () => {
  const later = { ...terms, version: '2027-01' }
  const place = { ...catalog, operator: { ...catalog.operator, terms: null as null | typeof terms } }
  const t = await testApp({ catalog: place })
  const { call } = openBrowser(t)
  await call('POST', '/sign-up', { email: 'ann@example.com' })
  const body = { token: await linkTo(t, 'ann@example.com'), name: 'Ann', password: PASSWORD }
  expect((await call('POST', '/sign-up/complete', body)).body.person.terms_due).toBeNull()
  for (const due of [terms, later]) {
    place.operator.terms = due
    expect((await call('GET', '/person')).body.terms_due).toEqual(due)
    expect((await call('GET', '/account/me')).status).toBe(200)
    expect((await t.call('GET', '/account/me')).status).toBe(200)
    const old = await call('PATCH', '/person', { accepted_terms: '2025-01', name: 'Other' })
    expect([old.status, old.body.code]).toEqual([409, 'terms_not_accepted'])
    const done = await call('PATCH', '/person', { accepted_terms: due.version })
    expect([done.status, done.body.terms_due, done.body.name]).toEqual([200, null, 'Ann'])
    const [row] = await t.db.selectFrom('people').selectAll().execute()
    expect(row).toMatchObject({ terms_version: due.version, terms_accepted_at: t.clock.now() })
  }
  place.operator.terms = null
  expect((await call('GET', '/person')).body.terms_due).toBeNull()
})

test('mails begin with the logo of the hoster', async () => {
  const t = await testApp({ catalog })
  await openBrowser(t).call('POST', '/sign-up', { email: 'ann@example.com' })
  await linkTo(t, 'ann@example.com')
  expect(t.mails[0]?.html).toMatch(
    /<body.*>\n<p><img src="https:\/\/static\.example\.com\/logo\.svg" alt="Example Cloud" height="40"><\/p>\n<p>Somebody/,
  )
})

test('the logo may come from its own address, and from no other', async () => {
  const page = { page: '<title>x</title>', files: new Map() }
  const policyOf = async (options: Parameters<typeof testApp>[0]) => {
    const t = await testApp({ ...options, pages: page })
    const { headers } = await t.app.http.inject({ url: '/', headers: { accept: 'text/html' } })
    return String(headers['content-security-policy'])
  }
  expect(await policyOf({ catalog })).toContain("img-src 'self' data: https://static.example.com;")
  expect(await policyOf({})).toContain("img-src 'self' data:;")
})

test('a page, a contact or a name that could be something else is refused in the catalogue', () => {
  for (const line of [
    'payment_url: javascript:alert(1)',
    'payment_url: "https://a.example/\\"><script>"',
    'contact: call me',
    'name: "<b>x</b>"',
    'terms: { url: http://plain.example, version: "1" }',
  ])
    expect(() => parseCatalog(`${catalogText}\noperator:\n  ${line}\n`, 'c.yaml')).toThrow(/c\.yaml:\d+: /)
})
