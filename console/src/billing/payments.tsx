import type { Payment } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useFormats } from '../format.ts'
import { Card } from '../ui/page.tsx'
import { Loaded } from '../ui/states.tsx'
import { Status, type Tone } from '../ui/status.tsx'
import { Pager, Table } from '../ui/table.tsx'
import { PAGE, paymentsQuery } from './queries.ts'
import { useBillingText } from './text.ts'

const tones: Record<Payment['status'], Tone> = {
  pending: 'busy',
  succeeded: 'good',
  canceled: 'off',
  refunded: 'off',
  disputed: 'warn',
  held: 'warn',
}

export function PaymentStatus({ status }: Pick<Payment, 'status'>) {
  const t = useBillingText()
  return <Status tone={tones[status]}>{t.paymentStatuses[status]}</Status>
}

/** The top-ups of the account through payment providers; nothing if there are none. */
export function Payments() {
  const t = useBillingText()
  const format = useFormats()
  const [offset, setOffset] = useState(0)
  const query = useQuery(paymentsQuery(offset))
  if (query.data?.total === 0) return null
  return (
    <Card title={t.payments}>
      <Loaded query={query}>
        {({ items, total }) => (
          <>
            <Table
              label={t.payments}
              rows={items}
              idOf={({ payment_id }) => payment_id}
              columns={[
                {
                  title: t.date,
                  cell: ({ payment_id, created_at }) => (
                    <Link
                      to="/billing/payments/$paymentId"
                      params={{ paymentId: payment_id }}
                      className="title"
                    >
                      {format.exact(created_at)}
                    </Link>
                  ),
                },
                { title: t.status, cell: ({ status }) => <PaymentStatus status={status} /> },
                { title: t.amount, isNumber: true, cell: ({ amount_rub }) => format.money(amount_rub) },
                { title: t.returned, isNumber: true, cell: ({ refunded_rub }) => format.money(refunded_rub) },
              ]}
            />
            <Pager offset={offset} limit={PAGE} total={total} onChange={setOffset} />
          </>
        )}
      </Loaded>
    </Card>
  )
}
