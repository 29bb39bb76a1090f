import type { Balance, Transaction } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { accountQuery } from '../account/queries.ts'
import { useFormats } from '../format.ts'
import { Contact } from '../people/hoster.tsx'
import type { Example } from '../ui/example.ts'
import { Card, Page } from '../ui/page.tsx'
import { Empty, Loaded, Note } from '../ui/states.tsx'
import { Pager, Table } from '../ui/table.tsx'
import { AutomaticTopUp } from './auto-top-up.tsx'
import { Credits } from './credits.tsx'
import { Documents } from './documents.tsx'
import { Figures, useMoneyFigures } from './figures.tsx'
import { Item } from './item.tsx'
import { Methods } from './methods.tsx'
import { Payments } from './payments.tsx'
import { balanceQuery, PAGE, providersQuery, transactionsQuery } from './queries.ts'
import { useBillingText } from './text.ts'
import { TopUp } from './top-up.tsx'
import { Transfers } from './transfers.tsx'
import { UsageCard } from './usage-card.tsx'

const examples: readonly Example[] = [
  { route: 'GET /account/balance', berth: 'berth balance', sdk: 'account.balance' },
  { route: 'GET /account/usage', berth: 'berth usage', sdk: 'usage.get' },
  {
    route: 'POST /account/payments',
    body: { amount_rub: '500.00' },
    berth: 'berth account top-up 500',
    sdk: 'payments.create',
  },
  { route: 'GET /account/payment_methods', berth: 'berth payment-method list', sdk: 'payments.methods' },
  {
    route: 'PUT /account/auto_top_up',
    body: {
      ...{ below_rub: '500.00', amount_rub: '1000.00', monthly_limit_rub: '5000.00' },
      payment_method_id: '01a1fb44-5b20-7e2d-9f5c-3a2f1e0d9c8b',
    },
    berth: 'berth account auto-top-up set --below 500 --amount 1000 --monthly-limit 5000 --method 4477',
    sdk: 'payments.setAutoTopUp',
  },
  {
    route: 'POST /account/transfers',
    body: { amount_rub: '5000.00' },
    berth: 'berth account transfer 5000',
    sdk: 'transfers.create',
  },
  { route: 'GET /account/transfers', berth: 'berth account transfers', sdk: 'transfers.list' },
  {
    route: 'POST /account/credits',
    body: { code: '7KQ2-MX4H-PT9D-W3ZB' },
    berth: 'berth account redeem 7KQ2-MX4H-PT9D-W3ZB',
    sdk: 'credits.redeem',
  },
  { route: 'GET /account/credits', berth: 'berth account credits', sdk: 'credits.list' },
  { route: 'GET /account/payments', berth: 'berth account payments', sdk: 'payments.list' },
  { route: 'GET /account/documents', berth: 'berth account documents', sdk: 'documents.list' },
  { route: 'GET /account/transactions', berth: 'berth transaction list', sdk: 'transactions.list' },
]

export function BillingPage() {
  const t = useBillingText()
  const query = useQuery(balanceQuery)
  return (
    <Page title={t.title} examples={examples}>
      <Loaded query={query}>{(balance) => <Money balance={balance} />}</Loaded>
      <Methods />
      <AutomaticTopUp />
      <Credits />
      <Payments />
      <Documents />
      <UsageCard />
      <Ledger />
    </Page>
  )
}

function Money({ balance }: { balance: Balance }) {
  const t = useBillingText()
  const format = useFormats()
  const figures = useMoneyFigures(balance)
  return (
    <div className="stack">
      {balance.top_up_to_resume_rub ? (
        <Note tone="bad">{t.toResume(format.money(balance.top_up_to_resume_rub))}</Note>
      ) : null}
      <Figures figures={Object.values(figures)} />
      <OwnPrices />
      <WaysToPay balance={balance} />
      {balance.takes_transfers ? <Transfers /> : null}
    </div>
  )
}

/** The prices of the account that differ from the catalogue. */
function OwnPrices() {
  const t = useBillingText()
  const format = useFormats()
  const { price_percent: percent = 0, preset_prices_rub: presets = {} } = useQuery(accountQuery).data ?? {}
  const own = Object.entries(presets).map(([slug, price]) => `${slug} ${format.money(price)}`)
  const parts = [...(percent === 0 ? [] : [t.onCatalogue(percent)]), ...own]
  return parts.length > 0 ? <p>{t.ownPrices(parts.join(', '))}</p> : null
}

function WaysToPay({ balance }: { balance: Balance }) {
  const t = useBillingText()
  const providers = useQuery(providersQuery).data?.items
  if (providers && providers.length > 0)
    return <TopUp providers={providers} suggested={balance.top_up_to_resume_rub ?? '500'} />
  if (balance.top_up_url)
    return (
      <p>
        <a className="button" href={balance.top_up_url}>
          {t.topUp}
        </a>
      </p>
    )
  if (balance.takes_transfers) return null
  return (
    <p className="muted small">
      {t.topUpAbout} <Contact />
    </p>
  )
}

function Ledger() {
  const t = useBillingText()
  const format = useFormats()
  const [offset, setOffset] = useState(0)
  const query = useQuery(transactionsQuery(offset))
  const signed = ({ amount }: Transaction) => `${Number(amount) > 0 ? '+' : ''}${format.money(amount)}`
  return (
    <Card title={t.ledger}>
      <Loaded query={query}>
        {({ items, total }) =>
          total === 0 ? (
            <Empty title={t.noTransactions} />
          ) : (
            <>
              <Table
                label={t.ledger}
                rows={items}
                idOf={({ transaction_id }) => transaction_id}
                columns={[
                  { title: t.date, cell: ({ created_at }) => format.exact(created_at) },
                  { title: t.type, cell: ({ type }) => t.types[type] },
                  { title: t.for, isWrapped: true, cell: (entry) => <Purpose entry={entry} /> },
                  { title: t.amount, isNumber: true, cell: signed },
                  {
                    title: t.after,
                    isNumber: true,
                    cell: ({ balance_after }) => format.money(balance_after),
                  },
                ]}
              />
              <Pager offset={offset} limit={PAGE} total={total} onChange={setOffset} />
            </>
          )
        }
      </Loaded>
    </Card>
  )
}

/** The item, time and traffic of a charge, in the reader's language; for other entries the operator's own words. */
function Purpose({ entry }: { entry: Transaction }) {
  const t = useBillingText()
  const format = useFormats()
  const { item_type, item_id, item_name, hour, seconds, traffic_bytes } = entry
  if (!item_type || !item_id || !hour) return entry.description
  const amount =
    traffic_bytes === null ? t.duration(seconds ?? 0) : t.traffic(format.number(traffic_bytes / 1e9, 3))
  return (
    <div>
      <Item item_type={item_type} item_id={item_id} item_name={item_name ?? item_id} />
      <div className="muted small">
        {format.exact(hour)}, {amount}
      </div>
    </div>
  )
}
