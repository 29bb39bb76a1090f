import type { Payment, PaymentCreate, PaymentProvider } from '@berth/sdk'
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

const RUBLES = 'RUB'

/** The sum of a payment as the API takes it. */
function sumIn(currency: string, amount: string): PaymentCreate {
  return currency === RUBLES ? { amount_rub: amount } : { charge_currency: currency, charge_amount: amount }
}

interface CurrenciesProps {
  providers: readonly PaymentProvider[]
  value: string
  onChange: (currency: string) => void
}

/** The choice of the currency to pay in, if there is one. */
function Currencies({ providers, value, onChange }: CurrenciesProps) {
  const t = useBillingText()
  const codes = [...new Set(providers.flatMap(({ currencies }) => currencies))]
  if (codes.length < 2) return null
  return (
    <SelectField
      label={t.currency}
      value={value}
      options={codes.map((code) => ({ value: code, title: code }))}
      onChange={onChange}
    />
  )
}

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
  const [currency, setCurrency] = useState(RUBLES)
  const taking = providers.filter(({ currencies }) => currencies.includes(currency))
  const known = useQuery(methodsQuery).data?.items ?? []
  const methods = known.filter((one) => taking.some(({ provider }) => provider === one.provider))
  const [picked, setPicked] = useState('')
  const method = methods.find(({ payment_method_id }) => payment_method_id === picked)
  const [isSaved, setSaved] = useState(false)
  const provider = (taking.find((one) => one.provider === chosen) ?? taking[0])?.provider
  const begin = useMutation({
    mutationFn: () =>
      berth.payments.create({
        ...sumIn(currency, typedRubles(amount)),
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
            <Currencies
              providers={providers}
              value={currency}
              onChange={(next) => {
                setCurrency(next)
                // As many euros as rubles would be a costly slip.
                setAmount('')
              }}
            />
            <TextField
              label={currency === RUBLES ? t.amountRub : t.amountIn(currency)}
              value={amount}
              inputMode="decimal"
              error={fieldError('amount_rub') ?? fieldError('charge_amount')}
              onChange={(event) => setAmount(event.target.value)}
            />
            {currency === RUBLES ? (
              <Approximately rubles={typedRubles(amount)} isExplained />
            ) : (
              <span className="muted small">{t.chargedAbout}</span>
            )}
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
            {taking.length > 1 && provider && !method ? (
              <SelectField
                label={t.provider}
                value={provider}
                options={taking.map((one) => ({ value: one.provider, title: one.title }))}
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
