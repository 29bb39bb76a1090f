import type { Transfer } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { typedRubles, useFormats } from '../format.ts'
import { Copy } from '../ui/copy.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Guarded } from '../ui/guarded.tsx'
import { Card, Facts } from '../ui/page.tsx'
import { useFieldError } from '../ui/problems.ts'
import { transfersQuery } from './queries.ts'
import { useBillingText } from './text.ts'

/** Open invoices for bank transfers, and a field to ask for one. */
export function Transfers() {
  const t = useBillingText()
  const open = (useQuery(transfersQuery).data?.items ?? []).filter(({ status }) => status === 'open')
  return (
    <Card title={t.transfer}>
      <div className="body stack">
        <p className="muted small">{t.transferAbout}</p>
        {open.map((transfer) => (
          <Invoice key={transfer.transfer_id} transfer={transfer} />
        ))}
        <Guarded scope="account:write">
          <Ask />
        </Guarded>
      </div>
    </Card>
  )
}

function Invoice({ transfer }: { transfer: Transfer }) {
  const t = useBillingText()
  const format = useFormats()
  const { transfer_id, reference, amount_rub, payee, expires_at } = transfer
  const correspondent = payee.correspondent_account
  return (
    <section aria-label={t.invoiceOf(reference)}>
      <Facts
        facts={[
          [t.purpose, <Copy key="reference" text={reference} />],
          [t.amount, format.money(amount_rub)],
          [t.payee, <Copy key="name" text={payee.name} />],
          [t.taxId, <Copy key="tax" text={payee.tax_id} />],
          [t.bank, payee.bank_name],
          [t.bic, <Copy key="bic" text={payee.bank_bic} />],
          [t.bankAccount, <Copy key="account" text={payee.bank_account} />],
          ...(correspondent === null
            ? []
            : ([[t.correspondent, <Copy key="correspondent" text={correspondent} />]] as const)),
          [t.payUntil, format.exact(expires_at)],
        ]}
      />
      <a
        className="button"
        href={`/v1/account/transfers/${transfer_id}/content.pdf`}
        download={`invoice-${reference}.pdf`}
        aria-label={t.download('PDF', reference)}
      >
        PDF
      </a>
    </section>
  )
}

function Ask() {
  const t = useBillingText()
  const [amount, setAmount] = useState('')
  const ask = useMutation({
    mutationFn: () => berth.transfers.create(typedRubles(amount)),
    onSuccess: async () => {
      setAmount('')
      await queryClient.invalidateQueries({ queryKey: transfersQuery.queryKey })
    },
  })
  const fieldError = useFieldError(ask.error)
  return (
    <Form submit={t.askInvoice} mutation={ask} isReady={amount.trim() !== ''} onSubmit={() => ask.mutate()}>
      <TextField
        label={t.invoiceAmount}
        value={amount}
        inputMode="decimal"
        autoComplete="off"
        error={fieldError('amount_rub')}
        onChange={(event) => setAmount(event.target.value)}
      />
    </Form>
  )
}
