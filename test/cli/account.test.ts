import { test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('the account and its balance are shown', async () => {
  await expectSession(await loggedIn(), 'account', [
    'whoami',
    'whoami -o json',
    'balance',
    'balance -o json',
    'balance extra',
  ])
})

test('a mistyped command gets two lines, with a suggestion', async () => {
  await expectSession(await loggedIn(), 'mistyped', [
    'servers',
    'servers describe web-1',
    'images ls --columns name',
    'ssh web-1',
    'server create web-1 --image micro',
    'server create web-1 --type nano',
    'server create --name web-1',
    'server rename web-1',
    'xyzzy',
    'server lst',
    'server list --colums name',
    "whoami --token 'a secret'",
    "whoami --url 'http://a b' --token x",
    'whoami --url http://me:pass@127.0.0.1:8080 --token x',
    'login cloud.example',
    'login http://127.0.0.1:99999',
  ])
})
