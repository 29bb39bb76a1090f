import { type Route, route } from '../http/contract/route.ts'
import { deleteAutoTopUp, setAutoTopUp, showAutoTopUp } from './auto-top-up.ts'
import type { Paying } from './payments.ts'
import { AutoTopUp, AutoTopUpSet, paymentProblems } from './schema.ts'

const tag = 'Payments'
const path = '/account/auto_top_up'

export function autoTopUpRoutes(paying: Paying): Route[] {
  return [
    route({
      id: 'getAutoTopUp',
      method: 'GET',
      path,
      scope: 'account:read',
      tag,
      summary: 'Get the automatic top-up',
      description:
        'Its settings, what it has charged this month, and whether it waits or was turned off. It is off until it is set.',
      reply: { 200: AutoTopUp },
      run: ({ actor }) => showAutoTopUp(paying, actor),
    }),
    route({
      id: 'setAutoTopUp',
      method: 'PUT',
      path,
      scope: 'account:write',
      deed: 'pay',
      tag,
      summary: 'Set the automatic top-up',
      description:
        'Charges the saved method once each time the balance falls below the line, if the monthly limit leaves room. A declined payment is mailed to the people who may pay, and tried again after an hour, then after a day; the third in a row turns it off, until it is set again. Setting it counts as a fall if the balance is below the line already.',
      body: AutoTopUpSet,
      reply: { 200: AutoTopUp },
      errors: [paymentProblems.payment_method_not_found, paymentProblems.payments_off],
      run: async ({ actor, body }) => {
        await setAutoTopUp(paying, actor.accountId, body)
        return showAutoTopUp(paying, actor)
      },
    }),
    route({
      id: 'deleteAutoTopUp',
      method: 'DELETE',
      path,
      scope: 'account:write',
      tag,
      summary: 'Turn off the automatic top-up',
      description:
        'Nothing is charged from here on, and the settings are forgotten. A payment that was begun still ends.',
      reply: { 204: null },
      run: ({ actor }) => deleteAutoTopUp(paying, actor.accountId),
    }),
  ]
}
