import type { OperatedPayment } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { PaymentStatus } from '../billing/payments.tsx'
import { berth, queryClient } from '../client.ts'
import { typedRubles, UNKNOWN, useFormats } from '../format.ts'
import { Copy, CopyId } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Segments, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Menu } from '../ui/menu.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { useFieldError } from '../ui/problems.ts'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { PAGE, paymentsQuery } from './queries.ts'
import { useOperatorText } from './text.ts'

const route = getRouteApi('/shell/operator/payments')
const kinds = ['all', 'problems'] as const

/** The payments of all accounts, with the reason if a part of one was not booked. */
export function PaymentsPage() {
  const t = useOperatorText()
  const { show = 'all', offset = 0 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(paymentsQuery(show === 'problems', offset))
  const [refunded, setRefunded] = useState<OperatedPayment | null>(null)
  const columns = useColumns(setRefunded)
  return (
    <Page title={t.payments} about={t.paymentsAbout}>
      <Segments
        label={t.state}
        value={show}
        options={kinds.map((value) => ({ value, title: t.paymentKinds[value] }))}
        onChange={(next) => void navigate({ search: { show: next } })}
      />
      <PagedTable
        query={query}
        empty={{ title: t.noPayments }}
        label={t.payments}
        columns={columns}
        idOf={({ payment_id }) => payment_id}
        page={{ offset, limit: PAGE, onChange: (next) => void navigate({ search: { show, offset: next } }) }}
      />
      {refunded ? <RefundDialog payment={refunded} onClose={() => setRefunded(null)} /> : null}
    </Page>
  )
}

function useColumns(onRefund: (payment: OperatedPayment) => void): Column<OperatedPayment>[] {
  const t = useOperatorText()
  const format = useFormats()
  return [
    { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
    { title: t.account, cell: ({ account_id: id }) => <CopyId id={id} /> },
    { title: t.status, cell: ({ status }) => <PaymentStatus status={status} /> },
    {
      title: t.amount,
      isNumber: true,
      cell: ({ amount_rub, charge_amount, charge_currency }) =>
        charge_amount === null || charge_currency === null
          ? format.money(amount_rub)
          : `${format.money(amount_rub)} (${format.foreign(charge_amount, charge_currency)})`,
    },
    { title: t.returned, isNumber: true, cell: ({ refunded_rub }) => format.money(refunded_rub) },
    {
      title: t.reference,
      cell: ({ reference: text }) => (text ? <Copy text={text} shown={text.slice(0, 20)} /> : UNKNOWN),
    },
    { title: t.problem, isWrapped: true, cell: ({ problem }) => problem ?? UNKNOWN },
    {
      title: '',
      cell: (payment) => (
        <Menu
          label={t.paymentOf(payment.payment_id)}
          items={[
            {
              title: t.refund,
              isDisabled: !['succeeded', 'held'].includes(payment.status),
              onSelect: () => onRefund(payment),
            },
          ]}
        />
      ),
    },
  ]
}

function RefundDialog({ payment, onClose }: { payment: OperatedPayment; onClose: () => void }) {
  const t = useOperatorText()
  const { payment_id, amount_rub, refunded_rub } = payment
  const [amount, setAmount] = useState((Number(amount_rub) - Number(refunded_rub)).toFixed(2))
  const [reason, setReason] = useState('')
  const refund = useMutation({
    mutationFn: () => berth.operator.refundPayment(payment_id, { amount_rub: typedRubles(amount), reason }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['operator', 'payments'] })
      onClose()
    },
  })
  const errorOf = useFieldError(refund.error)
  return (
    <Dialog title={t.refund} onClose={onClose}>
      <Form
        submit={t.refund}
        mutation={refund}
        isReady={amount.trim() !== '' && reason.trim() !== ''}
        onSubmit={() => refund.mutate()}
        onCancel={onClose}
      >
        <p>{t.refundAbout}</p>
        <TextField
          label={t.amount}
          value={amount}
          inputMode="decimal"
          autoFocus
          error={errorOf('amount_rub')}
          onChange={(event) => setAmount(event.target.value)}
        />
        <TextField
          label={t.reason}
          value={reason}
          maxLength={200}
          error={errorOf('reason')}
          onChange={(event) => setReason(event.target.value)}
        />
      </Form>
    </Dialog>
  )
}
