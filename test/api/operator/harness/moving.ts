import { parseCatalog } from '../../../../api/catalog/file.ts'
import { type Call, catalogText } from '../../../harness/app.ts'
import { make } from '../../harness/ordering.ts'
import { withShop } from './shop.ts'

const ALL = ['account:read', 'account:write', 'servers:read', 'servers:write'] as const

/** Addresses, snapshots and backups have a price. */
function priced(hasAddresses: boolean) {
  const price = 'disk_gb_month_rub: "6.00",'
  const more = ' ipv4_month_rub: "150.00", snapshot_gb_month_rub: "30.00", backups_percent: 20,'
  const ranges = hasAddresses ? 'public_ipv4: [203.0.113.0/28]\n    ' : ''
  const text = catalogText.replace('overcommit:', `${ranges}overcommit:`)
  return parseCatalog(text.replaceAll(price, price + more), 'catalog.yaml')
}

/** A stopped server with a public address or a port, a snapshot and backups, and another account. */
export async function furnished({ balance = '1000', hasAddresses = true } = {}) {
  const { t, shop } = await withShop({ catalog: priced(hasAddresses), hasHcloud: true })
  const id = await make(t, {
    ...{ name: 'web-1', description: 'hush', labels: { role: 'hush' }, user_data: '#cloud-config\n# hush' },
    backups_enabled: true,
  })
  if (!hasAddresses) await t.call('POST', `/servers/${id}/ports`, { protocol: 'tcp', port: 80 })
  const snapshot = (await t.call('POST', '/snapshots', { server_id: id })).body.snapshot_id
  await t.finish()
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  const to = await t.makeAccount(balance)
  const buyer = t.callAs(await t.makeToken(ALL, { accountId: to }))
  const move = (more: object = {}, headers = {}) =>
    shop(
      'POST',
      `/operator/servers/${id}/move`,
      { account_id: to, reason: 'Sold to its user', ...more },
      headers,
    )
  return { t, shop, id, to, buyer, move, snapshot }
}

export const get = async (call: Call, path: string) => (await call('GET', path)).body
