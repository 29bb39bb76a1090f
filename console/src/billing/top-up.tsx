import type { Payment, PaymentProvider } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { typedRubles } from '../format.ts'
import { Approximately } from '../people/approximately.tsx'
import { Check, SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Guarded } from '../ui/guarded.tsx'
import { Card } from '../ui/page.tsx'
import { useFieldError } from '../ui/problems.ts'
import { methodName } from './methods.tsx'
import { methodsQuery } from './queries.ts'
import { useBillingText } from './text.ts'

/** Begins a payment, and leads to the provider's page. */
export function TopUp({
  providers,
  suggested,
}: {
  providers: readonly PaymentProvider[]
  suggested: string
}) {
  const t = useBillingText()
  const navigate = useNavigate()
  const [amount, setAmount] = useState(suggested)
  const [chosen, setChosen] = useState('')
  const methods = useQuery(methodsQuery).data?.items ?? []
  const [picked, setPicked] = useState('')
  const method = methods.find(({ payment_method_id }) => payment_method_id === picked)
  const [isSaved, setSaved] = useState(false)
  const provider = (providers.find((one) => one.provider === chosen) ?? providers[0])?.provider
  const begin = useMutation({
    mutationFn: () =>
      berth.payments.create({
        amount_rub: typedRubles(amount),
        ...(method
          ? { payment_method_id: method.payment_method_id }
          : { save_method: isSaved, ...(provider ? { provider } : {}) }),
      }),
    onSuccess: async ({ payment_id, url }: Payment) => {
      await queryClient.invalidateQueries({ queryKey: ['balance', 'payments'] })
      // If the provider does not answer yet, the page of the payment waits for it.
      if (url) location.assign(url)
      else await navigate({ to: '/billing/payments/$paymentId', params: { paymentId: payment_id } })
    },
  })
  const fieldError = useFieldError(begin.error)
  return (
    <Card title={t.topUp}>
      <div className="body">
        <Guarded scope="account:write">
          <Form
            submit={method ? t.charge : t.toPayment}
            mutation={begin}
            isReady={amount.trim() !== ''}
            onSubmit={() => begin.mutate()}
          >
            <TextField
              label={t.amountRub}
              value={amount}
              inputMode="decimal"
              error={fieldError('amount_rub')}
              onChange={(event) => setAmount(event.target.value)}
            />
            <Approximately rubles={typedRubles(amount)} isExplained />
            {methods.length > 0 ? (
              <SelectField
                label={t.method}
                value={picked}
                options={[
                  { value: '', title: t.otherMethod },
                  ...methods.map((one) => ({ value: one.payment_method_id, title: methodName(one) })),
                ]}
                onChange={setPicked}
              />
            ) : null}
            {providers.length > 1 && provider && !method ? (
              <SelectField
                label={t.provider}
                value={provider}
                options={providers.map((one) => ({ value: one.provider, title: one.title }))}
                onChange={setChosen}
              />
            ) : null}
            {method ? null : (
              <Check checked={isSaved} onChange={(event) => setSaved(event.target.checked)}>
                {t.saveMethod}
              </Check>
            )}
          </Form>
        </Guarded>
      </div>
    </Card>
  )
}
