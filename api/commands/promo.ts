import { Command } from 'commander'
import { systemClock as clock } from '../clock.ts'
import { createPromoCode, listPromoCodes, promoCodeView, revokePromoCode } from '../credits/codes.ts'
import { type PromoCode, PromoCodeCreate } from '../credits/schema.ts'
import { requireValid } from './checked.ts'
import { paged, printMore, wholeNumber } from './listing.ts'
import { type ReadConfig, withDatabase } from './operator.ts'
import { printFields, printTable } from './print.ts'

interface Given {
  name: string
  amount: string
  days: number
  uses: number
  until: string
  code?: string
}

export function promoCommands(config: ReadConfig): Command {
  const promo = new Command('promo').description('manage promo codes, whose credit ends')
  promo
    .command('create')
    .description('create a promo code, and print it; only its hash is stored')
    .requiredOption('--name <text>', 'name of it for operators')
    .requiredOption('--amount <rubles>', 'credit of each account')
    .addOption(
      wholeNumber('--days <number>', 'days until the rest of the credit expires', 1).makeOptionMandatory(),
    )
    .addOption(wholeNumber('--uses <number>', 'accounts that may redeem it, each once', 1).default(1))
    .requiredOption('--until <time>', 'end of its validity, such as 2030-01-31T00:00:00Z')
    .option('--code <code>', 'a code of yours, 12 to 40 letters and digits (default: 16 random ones)')
    .action(async ({ name, amount, days, uses, until, code }: Given) => {
      await withDatabase(config(), 'promo create', async (db) => {
        const terms = { name, amount_rub: amount, credit_days: days, max_uses: uses, expires_at: until }
        const body = requireValid(PromoCodeCreate, { ...terms, ...(code !== undefined && { code }) })
        const made = await createPromoCode({ db, clock }, body)
        console.error(made.isNew ? 'The promo code is shown only once:' : 'Nothing changed: the code exists.')
        printFields([['code', made.code], ...fieldsOf(promoCodeView(made.row))])
      })
    })
  const list = promo.command('list').description('list promo codes, newest first')
  paged(list, 'promo codes').action(async (page: { limit: number; offset: number }) => {
    await withDatabase(config(), 'promo list', async (db) => {
      const { items, total } = await listPromoCodes(db, page)
      const fields = items.map(promoCodeView).map(fieldsOf)
      const head = ['PROMO CODE', 'NAME', 'AMOUNT', 'DAYS', 'USES', 'OF', 'UNTIL', 'REVOKED']
      printTable(
        head,
        fields.map((row) => row.map(([, value]) => value)),
      )
      printMore(page, items.length, total, 'promo codes')
    })
  })
  promo
    .command('revoke')
    .description('revoke a promo code: nobody can redeem it from here on')
    .argument('<promo-code>', 'id')
    .action(async (id: string) => {
      await withDatabase(config(), 'promo revoke', async (db) =>
        printFields(fieldsOf(promoCodeView(await revokePromoCode({ db, clock }, id)))),
      )
    })
  return promo
}

function fieldsOf(code: PromoCode): [name: string, value: string][] {
  return [
    ['promo code', code.promo_code_id],
    ['name', code.name],
    ['amount', `${code.amount_rub} RUB`],
    ['days', String(code.credit_days)],
    ['uses', String(code.uses)],
    ['of', String(code.max_uses)],
    ['until', code.expires_at],
    ['revoked', code.revoked_at ?? ''],
  ]
}
