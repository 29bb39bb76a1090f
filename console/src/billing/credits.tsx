import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { useFormats } from '../format.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Guarded } from '../ui/guarded.tsx'
import { Card } from '../ui/page.tsx'
import { useFieldError } from '../ui/problems.ts'
import { Table } from '../ui/table.tsx'
import { creditsQuery } from './queries.ts'
import { useBillingText } from './text.ts'

/** Credit that ends, and a field for promo codes. */
export function Credits() {
  const t = useBillingText()
  const format = useFormats()
  const open = (useQuery(creditsQuery).data?.items ?? []).filter(({ ended_at }) => ended_at === null)
  return (
    <Card title={t.promoCode}>
      <div className="body stack">
        {open.length > 0 ? (
          <>
            <Table
              label={t.credits}
              rows={open}
              idOf={({ credit_id }) => credit_id}
              columns={[
                { title: t.credits, cell: ({ source }) => t.creditSources[source] },
                { title: t.amount, isNumber: true, cell: ({ amount_rub }) => format.money(amount_rub) },
                { title: t.creditLeft, isNumber: true, cell: ({ left_rub }) => format.money(left_rub) },
                { title: t.creditExpires, cell: ({ expires_at }) => format.exact(expires_at) },
              ]}
            />
            <p className="muted small">{t.creditAbout}</p>
          </>
        ) : null}
        <Guarded scope="account:write">
          <Redeem />
        </Guarded>
      </div>
    </Card>
  )
}

function Redeem() {
  const t = useBillingText()
  const [code, setCode] = useState('')
  const redeem = useMutation({
    mutationFn: () => berth.credits.redeem(code.trim()),
    onSuccess: async () => {
      setCode('')
      await queryClient.invalidateQueries({ queryKey: ['balance'] })
    },
  })
  const fieldError = useFieldError(redeem.error)
  return (
    <Form submit={t.redeem} mutation={redeem} isReady={code.trim() !== ''} onSubmit={() => redeem.mutate()}>
      <TextField
        label={t.promoCode}
        value={code}
        placeholder="XXXX-XXXX-XXXX-XXXX"
        autoComplete="off"
        error={fieldError('code')}
        onChange={(event) => setCode(event.target.value)}
      />
    </Form>
  )
}
