import { Command } from 'commander'
import { systemClock as clock } from '../clock.ts'
import { ConfigError } from '../config.ts'
import { quotas } from '../features.ts'
import { setPrices } from '../operator/accounts.ts'
import { catalogInForce } from './catalog.ts'
import { accountByNameOrId, type ReadConfig, withDatabase } from './operator.ts'
import { printFields } from './print.ts'

export function pricesCommand(config: ReadConfig): Command {
  return new Command('prices')
    .description(
      'set the prices of an account that differ from the catalogue, in place of earlier ones; what it has costs them from this moment',
    )
    .argument('<account>', 'e-mail address or id')
    .option('--percent <number>', 'percent on all prices, from -100 (free) to 100', '0')
    .option(
      '--preset <slug=rubles>',
      'a price per month of its own for a preset, such as nano=99.00 (repeatable)',
      (given: string, all: readonly string[]) => [...all, given],
      [],
    )
    .requiredOption('--reason <text>', 'reason, which the customer sees in the events of the account')
    .action(async (given: string, options: { percent: string; preset: string[]; reason: string }) => {
      const price_percent = percentOf(options.percent)
      const own = options.preset.map(presetOf)
      const parsed = config()
      const { catalog } = await catalogInForce(parsed)
      const slugs = catalog.presets.map(({ slug }) => slug)
      const unknown = own.find(([slug]) => !slugs.includes(slug))
      if (unknown) throw new ConfigError(`No such preset: ${unknown[0]}. There are ${slugs.join(', ')}.`)
      await withDatabase(parsed, 'account prices', async (db) => {
        const { account_id } = await accountByNameOrId(db, given)
        const wanted = { price_percent, preset_prices_rub: Object.fromEntries(own), reason: options.reason }
        const account = await setPrices({ db, clock, quotas, catalog }, account_id, wanted)
        printFields([
          ['percent', String(account.price_percent)],
          ...Object.entries(account.preset_prices_rub).map(
            ([slug, price]) => [slug, `${price} RUB`] as const,
          ),
        ])
      })
    })
}

/** @throws ConfigError */
function percentOf(text: string): number {
  const percent = Number(text)
  if (/^[+-]?\d{1,3}$/.test(text) && Math.abs(percent) <= 100) return percent
  throw new ConfigError(`"${text}" is not a percentage: give a whole number from -100 to 100.`)
}

/** @throws ConfigError */
function presetOf(text: string): [slug: string, price: string] {
  const [, slug = '', price = ''] = /^([a-z0-9-]+)=(\d{1,7}(?:\.\d{1,2})?)$/.exec(text) ?? []
  if (slug) return [slug, price]
  throw new ConfigError(`"${text}" is not a preset with its price: write it as in nano=99.00.`)
}
