import type { AutoTopUp, PaymentMethod } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { typedRubles, useFormats } from '../format.ts'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Guarded } from '../ui/guarded.tsx'
import { Card } from '../ui/page.tsx'
import { useFieldError } from '../ui/problems.ts'
import { Failed, Note } from '../ui/states.tsx'
import { methodName } from './methods.tsx'
import { autoTopUpQuery, methodsQuery, providersQuery } from './queries.ts'
import { useBillingText } from './text.ts'

const refresh = () => queryClient.invalidateQueries({ queryKey: ['balance'] })

/** The automatic top-up; nothing if no provider takes payments. */
export function AutomaticTopUp() {
  const t = useBillingText()
  const providers = useQuery(providersQuery).data?.items ?? []
  const methods = useQuery(methodsQuery).data?.items
  const settings = useQuery(autoTopUpQuery).data
  if (providers.length === 0 || !methods || !settings) return null
  return (
    <Card title={t.autoTopUp}>
      <div className="body stack">
        <Standing settings={settings} />
        {methods.length === 0 ? (
          <p className="muted small">{t.autoTopUpNeeds}</p>
        ) : (
          <Guarded scope="account:write">
            <Settings settings={settings} methods={methods} />
          </Guarded>
        )}
      </div>
    </Card>
  )
}

/** Shows if the automatic top-up is on, and what keeps it from charging. */
function Standing({ settings }: { settings: AutoTopUp }) {
  const t = useBillingText()
  const { money, exact } = useFormats()
  const { is_on, below_rub, amount_rub, monthly_limit_rub, charged_month_rub, waits_until, off_reason } =
    settings
  if (off_reason) return <Note tone="bad">{t.autoTopUpOff[off_reason]}</Note>
  if (!is_on || !below_rub || !amount_rub || !monthly_limit_rub) return <p>{t.autoTopUpAbout}</p>
  return (
    <>
      <p>{t.autoTopUpOn(money(below_rub), money(amount_rub))}</p>
      <p className="muted small">{t.autoTopUpCharged(money(charged_month_rub), money(monthly_limit_rub))}</p>
      {waits_until ? <Note tone="warn">{t.autoTopUpWaits(exact(waits_until))}</Note> : null}
    </>
  )
}

function Settings({ settings, methods }: { settings: AutoTopUp; methods: readonly PaymentMethod[] }) {
  const t = useBillingText()
  const [below, setBelow] = useState(settings.below_rub ?? '500')
  const [amount, setAmount] = useState(settings.amount_rub ?? '1000')
  const [limit, setLimit] = useState(settings.monthly_limit_rub ?? '5000')
  const [picked, setPicked] = useState(settings.payment_method_id ?? '')
  const method = methods.find(({ payment_method_id }) => payment_method_id === picked) ?? methods[0]
  const save = useMutation({
    mutationFn: () =>
      berth.payments.setAutoTopUp({
        ...{
          below_rub: typedRubles(below),
          amount_rub: typedRubles(amount),
          monthly_limit_rub: typedRubles(limit),
        },
        payment_method_id: method?.payment_method_id ?? '',
      }),
    onSuccess: refresh,
  })
  const turnOff = useMutation({ mutationFn: () => berth.payments.deleteAutoTopUp(), onSuccess: refresh })
  const fieldError = useFieldError(save.error)
  const sums = [
    { name: 'below_rub', label: t.below, value: below, change: setBelow },
    { name: 'amount_rub', label: t.autoAmount, value: amount, change: setAmount },
    { name: 'monthly_limit_rub', label: t.monthlyLimit, value: limit, change: setLimit },
  ]
  return (
    <>
      <Form
        submit={settings.is_on ? t.save : t.turnOn}
        mutation={save}
        isReady={sums.every(({ value }) => value.trim() !== '')}
        onSubmit={() => save.mutate()}
      >
        {sums.map(({ name, label, value, change }) => (
          <TextField
            key={name}
            label={label}
            value={value}
            inputMode="decimal"
            error={fieldError(name)}
            onChange={(event) => change(event.target.value)}
          />
        ))}
        <SelectField
          label={t.autoMethod}
          value={method?.payment_method_id ?? ''}
          options={methods.map((one) => ({ value: one.payment_method_id, title: methodName(one) }))}
          onChange={setPicked}
        />
      </Form>
      {turnOff.error ? <Failed error={turnOff.error} /> : null}
      {settings.is_on ? (
        <div className="row">
          <Button onClick={() => turnOff.mutate()} isBusy={turnOff.isPending}>
            {t.turnOff}
          </Button>
        </div>
      ) : null}
    </>
  )
}
