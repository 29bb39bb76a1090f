import { expect, test } from 'vitest'
import { changeSmtp } from '../../../api/accounts/accounts.ts'
import { addressesOf } from '../../../api/drivers/addresses.ts'
import { quotas } from '../../../api/features.ts'
import { testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

test('servers have addresses of their own, which stay theirs and are what the guest is told', async () => {
  const t = await testApp()
  const ids = [await make(t), await make(t)]
  const addresses = async (id: string) => {
    const { ssh, network } = (await t.call('GET', `/servers/${id}/details`)).body
    const told = t.driver.networkOf(id)
    const { address, prefixLength: prefix_length, gateway } = addressesOf(told?.number ?? 0).ipv4
    expect(network.ipv4).toEqual({ address, prefix_length, gateway })
    expect(told).toMatchObject({ ports: [{ protocol: 'tcp', hostPort: ssh.port, port: 22 }], isCut: false })
    return address
  }
  const [one = '', other = ''] = await Promise.all(ids.map(addresses))
  expect(one).not.toBe(other)
  await t.call('POST', `/servers/${ids[0]}/reboot`)
  await t.finish()
  expect(await addresses(ids[0] ?? '')).toBe(one)
})

test('servers may send mail once the operator says so of their account, and no others', async () => {
  const t = await testApp()
  const id = await make(t)
  const isOpen = async () => {
    await t.app.reconciler.look()
    return [(await t.call('GET', '/account/me')).body.is_smtp_open, t.driver.networkOf(id)?.maySendMail]
  }
  expect(await isOpen()).toEqual([false, false])
  await changeSmtp({ ...t, quotas }, await t.makeAccount(), { isOpen: true, reason: 'another' })
  expect(await isOpen()).toEqual([false, false])
  expect(await changeSmtp({ ...t, quotas }, t.accountId, { isOpen: true, reason: 'a shop' })).toBe(true)
  expect(await isOpen()).toEqual([true, true])
  const { items } = (await t.call('GET', '/events?order=desc')).body
  expect(items.find(({ type }: { type: string }) => type === 'account.updated').data).toMatchObject({
    is_smtp_open: true,
    reason: 'a shop',
  })
  expect(await changeSmtp({ ...t, quotas }, t.accountId, { isOpen: false, reason: 'spam' })).toBe(true)
  expect(await isOpen()).toEqual([false, false])
})

test('a driver that has lost the ports of a running server gets them again', async () => {
  const t = await testApp()
  const id = await make(t)
  const network = t.driver.networkOf(id)
  if (!network) throw new Error('it was never connected')
  await t.driver.connect(new Map([[id, { ...network, ports: [], isCut: true }]]))
  t.driver.failNext('connect', new Error('not now'))
  await t.app.reconciler.look()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
  await t.app.reconciler.look()
  expect(t.driver.networkOf(id)).toEqual(network)
})
