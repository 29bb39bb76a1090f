import type { Credit, OperatedAccount } from '@berth/sdk'
import { type ReactNode, useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { typedRubles } from '../format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { CloseForm, CreditLimitForm, DescribeForm, LimitsForm } from './account-forms.tsx'
import { useAccountFormsText } from './account-forms-text.ts'
import { LoginForm } from './login-form.tsx'
import { ReasonField, useReasoned } from './reason-field.tsx'
import { useOperatorText } from './text.ts'

export type Change =
  | keyof typeof statusCalls
  | ('credit' | 'debit' | 'prices' | 'describe' | 'limits' | 'credit_limit' | 'login' | 'close')

interface ChangeProps {
  account: OperatedAccount
  change: Change
  onClose: () => void
}

/** An operator's change of an account, with the reason that the customer sees. */
export function AccountChange({ account, change, onClose }: ChangeProps) {
  const t = useOperatorText()
  const { titles: more } = useAccountFormsText()
  const titles = {
    ...more,
    credit: t.creditOf,
    prices: t.pricesOf,
    suspend: t.suspendOf,
    freeze: t.freezeOf,
    resume: t.resumeOf,
  }
  const onDone = async () => {
    await refreshAccounts()
    onClose()
  }
  const props = { account, onDone, onCancel: onClose }
  if (change === 'close') return <CloseForm {...props} />
  return (
    <Dialog title={titles[change](account.email)} onClose={onClose}>
      {formOf(change, props)}
    </Dialog>
  )
}

export const refreshAccounts = () => queryClient.invalidateQueries({ queryKey: ['operator', 'accounts'] })

function formOf(
  change: Exclude<Change, 'close'>,
  { account, ...rest }: Omit<FormProps, 'id'> & { account: OperatedAccount },
): ReactNode {
  const props = { ...rest, id: account.account_id }
  switch (change) {
    case 'credit':
    case 'debit':
      return <CreditForm {...props} call={change} />
    case 'prices':
      return <PricesForm {...rest} account={account} />
    case 'describe':
      return <DescribeForm {...rest} account={account} />
    case 'limits':
      return <LimitsForm {...rest} account={account} />
    case 'credit_limit':
      return <CreditLimitForm {...rest} account={account} />
    case 'login':
      return <LoginForm account={account} onCancel={rest.onCancel} />
    default:
      return <StatusForm {...props} change={change} />
  }
}

interface FormProps {
  id: string
  onDone: () => Promise<void>
  onCancel: () => void
}

const statusCalls = {
  suspend: berth.operator.suspendAccount,
  freeze: berth.operator.freezeAccount,
  resume: berth.operator.resumeAccount,
}

export function StatusForm({
  id,
  change,
  onDone,
  onCancel,
}: FormProps & { change: keyof typeof statusCalls }) {
  const t = useOperatorText()
  const { mutation, hasReason, field } = useReasoned((reason) => statusCalls[change](id, { reason }), onDone)
  return (
    <Form
      submit={t[change]}
      mutation={mutation}
      isReady={hasReason}
      onSubmit={() => mutation.mutate()}
      onCancel={onCancel}
    >
      <p>{t.statusAbout[change]}</p>
      <ReasonField {...field} />
    </Form>
  )
}

/** The percentage; individual prices of presets, which programs set, stay as they are. */
function PricesForm({ account, onDone, onCancel }: Omit<FormProps, 'id'> & { account: OperatedAccount }) {
  const t = useOperatorText()
  const { account_id, preset_prices_rub } = account
  const [percent, setPercent] = useState(String(account.price_percent))
  const { mutation, hasReason, field } = useReasoned(
    (reason) =>
      berth.operator.setPrices(account_id, { price_percent: Number(percent), preset_prices_rub, reason }),
    onDone,
  )
  const errorOf = useFieldError(mutation.error)
  const presets = Object.entries(preset_prices_rub).map(([slug, price]) => `${slug} ${price}`)
  return (
    <Form
      submit={t.setPrices}
      mutation={mutation}
      isReady={/^[+-]?\d+$/.test(percent.trim()) && hasReason}
      onSubmit={() => mutation.mutate()}
      onCancel={onCancel}
    >
      <p>{t.pricesAbout}</p>
      {presets.length > 0 ? <p className="muted small">{t.ownPresets(presets.join(', '))}</p> : null}
      <TextField
        label={t.percent}
        inputMode="text"
        autoFocus
        value={percent}
        error={errorOf('price_percent')}
        onChange={(event) => setPercent(event.target.value)}
      />
      <ReasonField {...field} />
    </Form>
  )
}

const kinds = ['payment', 'correction'] as const
const moneyCalls = { credit: berth.operator.creditAccount, debit: berth.operator.debitAccount }

/** Adds to the balance, or takes from it. */
function CreditForm({ id, call, onDone, onCancel }: FormProps & { call: keyof typeof moneyCalls }) {
  const t = useOperatorText()
  const { actions, debitKinds } = useAccountFormsText()
  const titles = { credit: t.kinds, debit: debitKinds }[call]
  const [amount, setAmount] = useState('')
  const [type, setType] = useState<Credit['type']>(call === 'credit' ? 'payment' : 'correction')
  // The reference stays the same while the form is open, so that a payment sent twice is booked once.
  const [reference, setReference] = useState(() => `console-${Date.now()}`)
  const { mutation, hasReason, field } = useReasoned(
    (reason) => moneyCalls[call](id, { amount: typedRubles(amount), type, reason, reference }),
    onDone,
  )
  const errorOf = useFieldError(mutation.error)
  return (
    <Form
      submit={call === 'credit' ? t.credit : actions.debit}
      mutation={mutation}
      isReady={amount.trim() !== '' && hasReason && reference !== ''}
      onSubmit={() => mutation.mutate()}
      onCancel={onCancel}
    >
      <TextField
        label={t.amount}
        inputMode="decimal"
        autoFocus
        value={amount}
        error={errorOf('amount')}
        onChange={(event) => setAmount(event.target.value)}
      />
      <SelectField
        label={t.kind}
        value={type}
        options={kinds.map((value) => ({ value, title: titles[value] }))}
        onChange={setType}
      />
      <ReasonField {...field} />
      <TextField
        label={t.reference}
        hint={t.referenceAbout}
        maxLength={100}
        value={reference}
        error={errorOf('reference')}
        onChange={(event) => setReference(event.target.value)}
      />
    </Form>
  )
}
