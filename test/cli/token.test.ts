import { expect, test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('a token is created, listed and revoked by its name', async () => {
  const t = await loggedIn()
  await expectSession(t, 'token', [
    'token create ci --scope servers:read --scope servers:write --expires 2027-01-01',
    'token create reader --scope read -o json',
    'token create office --scope read --cidr 203.0.113.0/24 --cidr 2001:db8::7',
    'token create office --scope read --cidr 203.0.113.7/24',
    'token list',
    'token list -o json --sort name',
    'token list -o name',
    'token list --columns secret',
    'token list --columns name,cidrs',
    'token show reader',
    'token show office',
    'token show reader -o json',
    'token show writer',
    'token create lost --scope read -o name',
    'token create ci',
    'token create --scope read',
    'token create ci --scope everything',
    'token create ci --scope read --expires tomorrow',
    'token create ci --scope read --expires 2027-02-30',
    'token create ci --scope read --expires 2020-01-01',
    'token delete reader',
    'token delete reader',
  ])
})

test('a new token can be used, and expires as requested', async () => {
  const t = await loggedIn()
  const { token, expires_at } = JSON.parse(
    (await t.run('token create ci --scope account:read --expires 30d -o json')).out,
  )
  const days = (Date.parse(expires_at) - Date.now()) / 86_400_000
  expect([days > 29.9, days <= 30]).toEqual([true, true])
  expect(await t.run(`whoami -o name --token ${token}`)).toMatchObject({ code: 0 })
})

test('a token that is restricted to other addresses is refused with advice', async () => {
  const t = await loggedIn()
  const { out } = await t.run('token create office --scope read --cidr 203.0.113.0/24 -o json')
  const { code, err } = await t.run(`whoami --token ${JSON.parse(out).token}`)
  expect(code).not.toBe(0)
  expect(err).toContain('may not be used from 127.0.0.1')
  expect(err).toContain('Log in with a token that may be used from this address: berth login')
})

test('a rotation keeps tokens created with the revoked one, and no token is revoked without a question', async () => {
  const t = await loggedIn()
  const created = async (name: string) =>
    JSON.parse((await t.run(`token create ${name} --scope read --scope write -o json`)).out).token
  t.env.BERTH_TOKEN = await created('old')
  t.env.BERTH_TOKEN = await created('fresh')
  await created('laptop')
  const asked = await t.run('token delete old')
  expect(asked).toMatchObject({ code: 2, out: '' })
  expect(asked.err).toBe(
    'Error: Tokens created with this one would also be revoked: fresh, laptop. Nothing was revoked.\nUse --keep-children to keep them, or --with-children to revoke them.\n',
  )
  expect((await t.run('token delete old --keep-children')).code).toBe(0)
  const names = async () => (await t.run('token list --columns name')).out.split('\n').slice(1, -1).sort()
  expect(await names()).toEqual(['fresh', 'laptop', 'test', 'test'])
  t.env.BERTH_TOKEN = t.token
  expect((await t.run('token delete fresh --with-children')).code).toBe(0)
  expect(await names()).toEqual(['test', 'test'])
  expect((await t.run('token delete test --keep-children --with-children')).code).toBe(2)
})
