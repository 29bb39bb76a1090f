import { expect, test } from 'vitest'
import { withShop } from '../operator/harness/shop.ts'

test('a value in a wrong form is refused with the form that it needs', async () => {
  const { t, shop } = await withShop()
  const image = { name: 'golden', zone_slug: 'local-1', upload: true, content_bytes: 4096 }
  const wrong = { sha256: 'x', os_family: 'Debian Linux', default_username: 'Root' }
  const prices = { price_percent: 0, reason: 'Discount' }
  const refusals = [
    await t.call('POST', '/images', { ...image, ...wrong }),
    await shop('POST', `/operator/accounts/${t.accountId}/prices`, {
      ...prices,
      preset_prices_rub: { nano: '-5' },
    }),
    await shop('POST', `/operator/accounts/${t.accountId}/prices`, {
      ...prices,
      preset_prices_rub: { 'Nano X': '5' },
    }),
    await shop('PUT', '/operator/catalog', { text: 'zones: []', hash: 'x' }),
  ]
  for (const { status, body } of refusals) {
    expect(status).toBe(422)
    for (const { message } of body.errors) expect(message).toMatch(/ must (be|have) /)
  }
})
