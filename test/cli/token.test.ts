import { expect, test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('a token is made, listed and revoked by its name', async () => {
  const t = await loggedIn()
  await expectSession(t, 'token', [
    'token create ci --scope servers:read --scope servers:write --expires 2027-01-01',
    'token create reader --scope read -o json',
    'token list',
    'token list -o json --sort name',
    'token list -o name',
    'token list --columns secret',
    'token show reader',
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

test('a token that is made can be used, and ends when it was said', async () => {
  const t = await loggedIn()
  const { token, expires_at } = JSON.parse(
    (await t.run('token create ci --scope account:read --expires 30d -o json')).out,
  )
  const days = (Date.parse(expires_at) - Date.now()) / 86_400_000
  expect([days > 29.9, days <= 30]).toEqual([true, true])
  expect(await t.run(`whoami -o name --token ${token}`)).toMatchObject({ code: 0 })
})
