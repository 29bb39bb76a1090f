import type { Payment } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { queryClient } from '../client.ts'
import { useFormats } from '../format.ts'
import type { Example } from '../ui/example.ts'
import { Facts, Page } from '../ui/page.tsx'
import { Loaded } from '../ui/states.tsx'
import { PaymentStatus } from './payments.tsx'
import { paymentQuery } from './queries.ts'
import { useBillingText } from './text.ts'

const route = getRouteApi('/shell/billing/payments/$paymentId')

/** The page to which providers redirect customers back, which waits for the result of the payment. */
export function PaymentPage() {
  const t = useBillingText()
  const { paymentId } = route.useParams()
  const query = useQuery(paymentQuery(paymentId))
  const status = query.data?.status
  useEffect(() => {
    if (status && status !== 'pending') void queryClient.invalidateQueries({ queryKey: ['balance'] })
  }, [status])
  const examples: readonly Example[] = [
    {
      route: 'GET /account/payments/{payment_id}',
      path: { payment_id: paymentId },
      berth: `berth account payment ${paymentId}`,
      sdk: 'payments.get',
    },
  ]
  return (
    <Page title={t.payment} crumbs={<Link to="/billing">{t.title}</Link>} examples={examples}>
      <Loaded query={query}>{(payment) => <State payment={payment} />}</Loaded>
    </Page>
  )
}

function State({ payment }: { payment: Payment }) {
  const t = useBillingText()
  const format = useFormats()
  const { status, amount_rub, refunded_rub, url, created_at, charge_amount, charge_currency } = payment
  return (
    <div className="card">
      <div className="body stack">
        <p role="status">
          <PaymentStatus status={status} />
        </p>
        <p>{t.paymentAbout[status]}</p>
        <Facts
          facts={[
            [t.amount, format.money(amount_rub)],
            ...(charge_amount !== null && charge_currency !== null
              ? ([[t.charged, format.foreign(charge_amount, charge_currency)]] as const)
              : []),
            ...(Number(refunded_rub) > 0 ? ([[t.returned, format.money(refunded_rub)]] as const) : []),
            [t.date, format.exact(created_at)],
          ]}
        />
        {url ? (
          <p>
            <a className="button" href={url}>
              {t.toPayment}
            </a>
          </p>
        ) : null}
      </div>
    </div>
  )
}
