import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { withEuros } from '../../harness/second-currency.ts'
import { openBrowser } from '../harness/browser.ts'

test('the second currency is shown with its rate before anybody signs in, and beside the balance, which stays in rubles', async () => {
  const t = await testApp({ ...withEuros(), balance: '985' })
  const euros = { code: 'EUR', decimals: 2, rubles: '98.50' }
  const { operator } = (await openBrowser(t).call('GET', '/sign-in/options')).body
  expect(operator.second_currency).toEqual(euros)
  expect((await t.call('GET', '/account/balance')).body).toMatchObject({
    ...{ balance: '985.00', currency: 'RUB', second_currency: euros },
  })
})

test('without a second currency none is shown', async () => {
  const t = await testApp()
  const { operator } = (await openBrowser(t).call('GET', '/sign-in/options')).body
  expect(operator.second_currency).toBeNull()
  expect((await t.call('GET', '/account/balance')).body.second_currency).toBeNull()
})
