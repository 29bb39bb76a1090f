import { type Account, approximate, type Payment } from '@berth/sdk'
import { Command } from 'commander'
import { announcementsCommand } from './announcement.ts'
import { autoTopUpCommand } from './auto-top-up.ts'
import { answerComplaintCommand, complaintCommand, complaintsCommand } from './complaint.ts'
import { creditsCommand, redeemCommand } from './credit.ts'
import { documentCommand, documentsCommand } from './document.ts'
import { idOf } from './find.ts'
import { addLimitOption, type LimitOptions, upTo } from './flags.ts'
import type { Columns } from './output.ts'
import { paymentMethodKind } from './payment-method.ts'
import { action, listCommand, type Session } from './session.ts'
import { transferCommand, transferInvoiceCommand, transfersCommand } from './transfer.ts'
import { ifKnown, rub, untilIn } from './units.ts'

const used = (name: keyof Account['quotas']) => (account: Account) => {
  const { used, limit } = account.quotas[name]
  const { next } = account.limit_reasons[name]
  const raised = next === null ? '' : ` (${next.limit} once ${rub(next.paid_rub)} is paid)`
  return `${used} of ${limit}${raised}`
}

/** The account's own prices, such as "-10% on the catalogue, nano 99.00 RUB"; empty if it pays those of the catalogue. */
function ownPrices({ price_percent: percent, preset_prices_rub: presets }: Account): string {
  const sign = percent > 0 ? '+' : ''
  const own = Object.entries(presets).map(([slug, price]) => `${slug} ${rub(price)}`)
  return [...(percent === 0 ? [] : [`${sign}${percent}% on the catalogue`]), ...own].join(', ')
}

export function whoamiCommand(): Command {
  return new Command('whoami').description('show the account, its quotas and the token in use').action(
    action(async ({ berth, show }) => {
      const account = await berth.account.get()
      const prices = ownPrices(account)
      await show(account, {
        Account: ({ email }) => email,
        Status: ({ status, status_reason, status_since }) =>
          [status, status_since && `since ${status_since}`, status_reason]
            .filter((part) => part !== null)
            .join(', '),
        Token: ({ token }) => token?.name,
        Scopes: ({ scopes }) => scopes.join(', '),
        ...(prices === '' ? {} : { Prices: () => prices }),
        'Outgoing mail': ({ is_smtp_open }) => (is_smtp_open ? 'open' : 'closed'),
        Servers: used('servers'),
        CPU: used('cpu'),
        'RAM MB': used('ram_mb'),
        'Disk GB': used('disk_gb'),
        Projects: used('projects'),
        'SSH keys': used('ssh_keys'),
        Tokens: used('tokens'),
        Webhooks: used('webhooks'),
      })
    }),
  )
}

export function balanceCommand(): Command {
  return new Command('balance').description('show the balance and how long it lasts').action(
    action(async ({ berth, show }) => {
      const known = await berth.account.balance()
      const { credit_limit_rub: limit, top_up_to_resume_rub: missing, top_up_url: url } = known
      const { second_currency: second } = known
      await show(known, {
        Balance: ({ balance, currency }) => `${balance} ${currency}`,
        ...(second === null
          ? {}
          : { Approximately: ({ balance }) => `${approximate(balance, second)} ${second.code}` }),
        ...(Number(limit) > 0 ? { 'Credit limit': () => rub(limit) } : {}),
        'Cost per month': ({ cost_month_rub }) => rub(cost_month_rub),
        Lasts: ({ hours_left }) => ifKnown(hours_left, (hours) => untilIn(hours, new Date())),
        ...(missing === null ? {} : { 'Top up to resume': () => rub(missing) }),
        ...(url === null ? {} : { 'Top up at': () => url }),
      })
    }),
  )
}

const payments: Columns<Payment> = {
  id: ({ payment_id }) => payment_id,
  provider: ({ provider }) => provider,
  status: ({ status }) => status,
  amount: ({ amount_rub }) => rub(amount_rub),
  returned: ({ refunded_rub }) => rub(refunded_rub),
  charged: ({ charge_currency, charge_amount }) => charge_currency && `${charge_amount} ${charge_currency}`,
  url: ({ url }) => url,
  created: ({ created_at }) => created_at,
}

export function accountCommand(): Command {
  return new Command('account')
    .description(
      'top up the account, and view its payments, credits, documents, announcements and complaints',
    )
    .addCommand(topUpCommand())
    .addCommand(autoTopUpCommand())
    .addCommand(
      addLimitOption(
        listCommand({
          name: 'payments',
          description: 'list payments through payment providers, newest first',
          columns: payments,
          shown: ['id', 'provider', 'status', 'amount', 'returned', 'created'],
          items: async (session, options: LimitOptions) =>
            upTo(session, options, session.berth.payments.listAll()),
        }),
      ),
    )
    .addCommand(
      new Command('payment')
        .description('show a payment')
        .argument('<id>', 'id of the payment')
        .action(action(async ({ berth, show }, id: string) => show(await berth.payments.get(id), payments))),
    )
    .addCommand(transferCommand())
    .addCommand(transferInvoiceCommand())
    .addCommand(transfersCommand())
    .addCommand(redeemCommand())
    .addCommand(creditsCommand())
    .addCommand(documentsCommand())
    .addCommand(documentCommand())
    .addCommand(announcementsCommand())
    .addCommand(complaintsCommand())
    .addCommand(complaintCommand())
    .addCommand(answerComplaintCommand())
}

interface TopUpOptions {
  provider?: Payment['provider']
  currency?: string
  method?: string
  saveMethod?: true
  wait?: true
}

function topUpCommand(): Command {
  return new Command('top-up')
    .description('begin a payment, and print the page where it is paid')
    .argument('<amount>', 'amount in rubles or in --currency, such as 500 or 500.50')
    .option('--provider <name>', 'payment provider (default: the first that the operator has set up)')
    .option('--currency <code>', 'currency to charge, such as EUR; rubles arrive (default: rubles)')
    .option('--method <payment-method>', 'saved payment method to charge, by its last four digits or id')
    .option('--save-method', 'save the method once it has paid')
    .option('--wait', 'wait until it is paid or canceled')
    .action(
      action(async (session, amount: string, options: TopUpOptions) => {
        const { berth, note } = session
        const { provider, currency, method, saveMethod = false, wait = false } = options
        const begun = await berth.payments.create({
          ...(currency === undefined
            ? { amount_rub: amount }
            : { charge_amount: amount, charge_currency: currency }),
          ...(provider === undefined ? {} : { provider }),
          ...(saveMethod ? { save_method: true } : {}),
          ...(method === undefined
            ? {}
            : { payment_method_id: await idOf(berth, paymentMethodKind, method) }),
        })
        if (begun.url === null && method === undefined)
          note('The payment provider does not answer yet. Waiting for its page.')
        const opened = method === undefined ? await opening(session, begun) : begun
        if (opened.url !== null) note(`Open this page to pay: ${opened.url}`)
        await session.show(wait ? await berth.payments.waitFor(begun.payment_id) : opened, payments)
      }),
    )
}

/** Waits until the provider has opened the page of a payment, which it may not do at once. */
function opening({ berth }: Session, { payment_id }: Payment): Promise<Payment> {
  return berth.payments.waitFor(payment_id, {}, ({ url, status }) => url !== null || status !== 'pending')
}
