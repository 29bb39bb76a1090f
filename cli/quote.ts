import { approximate, type Quote, type Rate } from '@berth/sdk'
import { Command } from 'commander'
import { type Columns, showWithItems } from './output.ts'
import { addOrderOptions, type OrderOptions, requestOf } from './server/order.ts'
import { action } from './session.ts'
import { rub, sizeOf, trafficParts } from './units.ts'

/** @param second the second currency of the installation; null if it has none */
const partsIn = (second: (Rate & { code: string }) | null): Columns<Quote> => ({
  Zone: ({ zone_slug }) => zone_slug,
  'CPU type': ({ cpu_type }) => cpu_type,
  Size: sizeOf,
  'Price per month': ({ price_month_rub, currency }) => `${price_month_rub} ${currency}`,
  ...(second === null
    ? {}
    : { Approximately: ({ price_month_rub }) => `${approximate(price_month_rub, second)} ${second.code}` }),
  'Price per hour': ({ price_hour_rub, currency }) => `${price_hour_rub} ${currency}`,
  ...trafficParts,
  'Can be created': ({ can_create }) => can_create,
  'Blocked by': ({ blockers }) =>
    blockers.map(({ code, detail }) => `${detail} (${code})`).join('; ') || null,
})

const columns: Columns<Quote['items'][number]> = {
  item: ({ code }) => code,
  quantity: ({ quantity }) => quantity,
  unit: ({ unit }) => unit,
  unit_month: ({ price_unit_month_rub }) => rub(price_unit_month_rub),
  month: ({ price_month_rub }) => rub(price_month_rub),
}

const NO_SECOND = { operator: { second_currency: null } }

/** A quote for a server that can't be created is still a valid reply: the program exits with 0. */
export function quoteCommand(): Command {
  return addOrderOptions(
    new Command('quote').description(
      'quote the price of a server and what prevents its creation, without creating it',
    ),
  ).action(
    action(async (session, options: OrderOptions) => {
      const { berth, terminal, format } = session
      const item = await berth.quote(await requestOf(session, options))
      // Only the table shows it, so other formats ask for nothing more.
      const { operator } = format === 'table' ? await berth.signIn.options() : NO_SECOND
      const parts = partsIn(operator.second_currency)
      await showWithItems(terminal.stdout, format, { item, parts }, { items: item.items, columns })
    }),
  )
}
