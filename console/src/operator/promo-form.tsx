import type { NewPromoCode } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { typedRubles } from '../format.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { usePromoText } from './promo-text.ts'

interface FormProps {
  onCreated: (promoCode: NewPromoCode) => Promise<void>
  onCancel: () => void
}

const empty = { name: '', amount_rub: '', credit_days: '30', max_uses: '', expires_at: '', code: '' }
type Field = keyof typeof empty

const isWhole = (typed: string) => /^\d+$/.test(typed.trim())

/** The terms of a promo code. */
export function PromoCodeForm({ onCreated, onCancel }: FormProps) {
  const t = usePromoText()
  const [typed, setTyped] = useState(empty)
  const save = useMutation({
    mutationFn: () =>
      berth.operator.createPromoCode({
        ...{ name: typed.name.trim(), amount_rub: typedRubles(typed.amount_rub) },
        ...{ credit_days: Number(typed.credit_days), max_uses: Number(typed.max_uses) },
        expires_at: new Date(typed.expires_at).toISOString(),
        ...(typed.code.trim() === '' ? {} : { code: typed.code.trim() }),
      }),
    onSuccess: onCreated,
  })
  const errorOf = useFieldError(save.error)
  const { name, amount_rub, credit_days, max_uses, expires_at } = typed
  const isFilled = name.trim() !== '' && amount_rub.trim() !== '' && expires_at !== ''
  const field = (key: Field) => ({
    value: typed[key],
    error: errorOf(key),
    onChange: ({ target }: { target: { value: string } }) => setTyped({ ...typed, [key]: target.value }),
  })
  return (
    <Form
      submit={t.create}
      mutation={save}
      isReady={isFilled && isWhole(credit_days) && isWhole(max_uses)}
      onSubmit={() => save.mutate()}
      onCancel={onCancel}
    >
      <TextField label={t.name} hint={t.nameHint} maxLength={100} autoFocus {...field('name')} />
      <TextField label={t.amount} inputMode="decimal" {...field('amount_rub')} />
      <TextField label={t.days} hint={t.daysHint} inputMode="numeric" {...field('credit_days')} />
      <TextField label={t.maxUses} hint={t.maxUsesHint} inputMode="numeric" {...field('max_uses')} />
      <TextField label={t.expires} type="datetime-local" {...field('expires_at')} />
      <TextField label={t.code} hint={t.codeHint} {...field('code')} />
    </Form>
  )
}
