import type { Account, OperatedAccount } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useContext, useState } from 'react'
import { berth } from '../client.ts'
import { Features } from '../feature.ts'
import { typedRubles } from '../format.ts'
import { useWords } from '../messages.ts'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import { Check, SelectField, TextArea, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { useAccountFormsText } from './account-forms-text.ts'
import { ReasonField, useReasoned } from './reason-field.tsx'

interface AccountFormProps {
  account: OperatedAccount
  onDone: () => Promise<void>
  onCancel: () => void
}

/** An account for a customer, who need not have signed up. */
export function CreateForm({ onDone, onCancel }: Omit<AccountFormProps, 'account'>) {
  const t = useAccountFormsText()
  const [email, setEmail] = useState('')
  const [naming, setNaming] = useState<Naming>({ name: '', externalId: '' })
  const [name, externalId] = [naming.name.trim(), naming.externalId.trim()]
  const create = useMutation({
    mutationFn: () =>
      berth.operator.createAccount({
        email: email.trim(),
        ...(name === '' ? {} : { name }),
        ...(externalId === '' ? {} : { external_id: externalId }),
      }),
    onSuccess: onDone,
  })
  const errorOf = useFieldError(create.error)
  return (
    <Form
      submit={t.create}
      mutation={create}
      isReady={email.trim() !== ''}
      onSubmit={() => create.mutate()}
      onCancel={onCancel}
    >
      <p>{t.createAbout}</p>
      <TextField
        label={t.email}
        type="email"
        autoFocus
        value={email}
        error={errorOf('email')}
        onChange={(event) => setEmail(event.target.value)}
      />
      <NamingFields naming={naming} onChange={setNaming} error={create.error} />
    </Form>
  )
}

interface Naming {
  name: string
  externalId: string
}

interface NamingFieldsProps {
  naming: Naming
  error: Error | null
  autoFocus?: boolean
  onChange: (naming: Naming) => void
}

function NamingFields({ naming, error, autoFocus = false, onChange }: NamingFieldsProps) {
  const t = useAccountFormsText()
  const errorOf = useFieldError(error)
  return (
    <>
      <TextField
        label={t.name}
        maxLength={100}
        autoFocus={autoFocus}
        value={naming.name}
        error={errorOf('name')}
        onChange={({ target }) => onChange({ ...naming, name: target.value })}
      />
      <TextField
        label={t.externalId}
        hint={t.externalIdAbout}
        maxLength={100}
        value={naming.externalId}
        error={errorOf('external_id')}
        onChange={({ target }) => onChange({ ...naming, externalId: target.value })}
      />
    </>
  )
}

/** The operator's own description of an account. */
export function DescribeForm({ account, onDone, onCancel }: AccountFormProps) {
  const t = useAccountFormsText()
  const [naming, setNaming] = useState<Naming>({
    name: account.name,
    externalId: account.external_id ?? '',
  })
  const [tags, setTags] = useState(account.tags.join(' '))
  const [notes, setNotes] = useState(account.notes ?? '')
  const save = useMutation({
    mutationFn: () =>
      berth.operator.updateAccount(account.account_id, {
        name: naming.name.trim(),
        external_id: naming.externalId.trim() || null,
        tags: [...new Set(tags.split(/[\s,]+/).filter((tag) => tag !== ''))],
        notes: notes.trim() || null,
      }),
    onSuccess: onDone,
  })
  const errorOf = useFieldError(save.error)
  return (
    <Form
      submit={t.save}
      mutation={save}
      isReady={naming.name.trim() !== ''}
      onSubmit={() => save.mutate()}
      onCancel={onCancel}
    >
      <NamingFields naming={naming} onChange={setNaming} error={save.error} autoFocus />
      <TextField
        label={t.tags}
        hint={t.tagsAbout}
        value={tags}
        error={errorOf('tags')}
        onChange={(event) => setTags(event.target.value)}
      />
      <TextArea
        label={t.notes}
        hint={t.notesAbout}
        maxLength={2000}
        value={notes}
        error={errorOf('notes')}
        onChange={(event) => setNotes(event.target.value)}
      />
    </Form>
  )
}

/** One limit of an account at a time; the others stay. */
export function LimitsForm({ account, onDone, onCancel }: AccountFormProps) {
  const t = useAccountFormsText()
  const inWords = useWords()
  const quotas = useContext(Features).flatMap((feature) => feature.quotas ?? [])
  const options = quotas.map(({ name, title }) => ({ value: name, title: inWords(title) }))
  const [name, setName] = useState<keyof Account['quotas']>('servers')
  const [most, setMost] = useState('')
  const { mutation, hasReason, field } = useReasoned((reason) => {
    const limit = most.trim() === '' ? null : Number(most)
    return berth.operator.setLimits(account.account_id, { limits: { [name]: limit }, reason })
  }, onDone)
  const own = options.filter(({ value }) => account.quotas[value] !== undefined)
  return (
    <Form
      submit={t.setLimit}
      mutation={mutation}
      isReady={/^\d{0,9}$/.test(most.trim()) && hasReason}
      onSubmit={() => mutation.mutate()}
      onCancel={onCancel}
    >
      <p>{t.limitsAbout}</p>
      {own.length > 0 ? (
        <p className="muted small">
          {t.ownLimits(own.map(({ value, title }) => `${title} ${account.quotas[value]}`).join(', '))}
        </p>
      ) : null}
      <SelectField label={t.limit} value={name} options={options} onChange={setName} />
      <TextField
        label={t.most}
        hint={t.mostAbout}
        inputMode="numeric"
        value={most}
        onChange={(event) => setMost(event.target.value)}
      />
      <ReasonField {...field} />
    </Form>
  )
}

/** The amount that an account may owe. */
export function CreditLimitForm({ account, onDone, onCancel }: AccountFormProps) {
  const t = useAccountFormsText()
  const [limit, setLimit] = useState(account.credit_limit)
  const { mutation, hasReason, field } = useReasoned(
    (reason) =>
      berth.operator.setCreditLimit(account.account_id, { credit_limit_rub: typedRubles(limit), reason }),
    onDone,
  )
  return (
    <Form
      submit={t.setCreditLimit}
      mutation={mutation}
      isReady={limit.trim() !== '' && hasReason}
      onSubmit={() => mutation.mutate()}
      onCancel={onCancel}
    >
      <p>{t.creditLimitAbout}</p>
      <TextField
        label={t.creditLimit}
        inputMode="decimal"
        autoFocus
        value={limit}
        error={useFieldError(mutation.error)('credit_limit_rub')}
        onChange={(event) => setLimit(event.target.value)}
      />
      <ReasonField {...field} />
    </Form>
  )
}

/** A dialog that closes an account, once its address is typed. */
export function CloseForm({ account, onDone, onCancel }: AccountFormProps) {
  const t = useAccountFormsText()
  const [force, setForce] = useState(false)
  const { mutation, hasReason, field } = useReasoned(
    (reason) => berth.operator.closeAccount(account.account_id, { reason, force }),
    onDone,
  )
  return (
    <ConfirmDelete
      title={t.titles.close(account.email)}
      name={account.email}
      submit={t.actions.close}
      isReady={hasReason}
      mutation={mutation}
      onClose={onCancel}
    >
      <div className="stack">
        <p>{t.closeAbout}</p>
        <ReasonField {...field} />
        {account.server_count > 0 ? (
          <Check checked={force} onChange={(event) => setForce(event.target.checked)}>
            {t.force}
          </Check>
        ) : null}
      </div>
    </ConfirmDelete>
  )
}
