import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'

// On PostgreSQL all wait for one of its connections first, to find out whose they are.
test.runIf(process.env.BERTH_TEST_DATABASE !== 'postgres')(
  'a request of one account is answered before most of the hundred that another one sent first',
  async () => {
    const t = await testApp()
    const neighbour = t.callAs(await t.makeToken(['read'], { accountId: await t.makeAccount() }))
    const answered: string[] = []
    const note = (who: string) => () => void answered.push(who)
    await t.call('GET', '/zones')
    const all = Array.from({ length: 100 }, () => t.call('GET', '/servers?limit=200').then(note('hostile')))
    await neighbour('GET', '/servers').then(note('neighbour'))
    expect(answered.indexOf('neighbour')).toBeLessThan(50)
    await Promise.all(all)
  },
)

test('requests without a token take turns by address', async () => {
  const t = await testApp()
  const answered: string[] = []
  const ask = (address: string) =>
    t.app.http
      .inject({ method: 'GET', url: '/v1/openapi.json', remoteAddress: address })
      .then(() => answered.push(address))
  await Promise.all([...Array<string>(100).fill('192.0.2.1'), '192.0.2.2'].map(ask))
  expect(answered.indexOf('192.0.2.2')).toBeLessThan(50)
})
