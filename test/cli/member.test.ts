import { expect, test } from 'vitest'
import { linkTo, openBrowser, PASSWORD } from '../api/harness/browser.ts'
import { expectSession, loggedIn } from './harness/berth.ts'

test('people are invited by mail, join, get another role, and are removed', async () => {
  const t = await loggedIn()
  const invited = await t.run('invitation create bob@example.com --role viewer -o json')
  expect(JSON.parse(invited.out)).toMatchObject({ email: 'bob@example.com', role: 'viewer' })
  const token = await linkTo(t, 'bob@example.com')
  const { call } = openBrowser(t)
  await call('POST', '/invitations/accept', { token, name: 'Bob', password: PASSWORD })
  await expectSession(t, 'member', [
    'invitation create cleo@example.com --role billing --language ru',
    'invitation create fred@example.com --role viewer -o json',
    'invitation create bob@example.com --role admin',
    'invitation create dan --role admin',
    'invitation create dan@example.com',
    'invitation create dan@example.com --role owner',
    'invitation create dan@example.com --role king',
    'invitation list',
    'invitation list -o json',
    'invitation list --sort color',
    'invitation delete fred@example.com -o json',
    'invitation delete cleo@example.com',
    'invitation delete cleo@example.com',
    'invitation revoke cleo@example.com',
    'member list',
    'member list --columns email,role --no-header',
    'member role bob@example.com member',
    'member role bob@example.com viewer -o json',
    'member role bob@example.com owner',
    'member role eve@example.com admin',
    'member delete bob@example.com',
    'member delete bob@example.com --yes -o json',
    'member remove bob@example.com --yes',
    'member list --sort color',
    'member list -o json',
  ])
})
