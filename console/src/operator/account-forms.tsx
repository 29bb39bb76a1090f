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
import { ReasonField } from './reason-field.tsx'

interface AccountFormProps {
  account: OperatedAccount
  onDone: () => Promise<void>
  onCancel: () => void
}

/** An account for a customer, who need not have signed up. */
export function CreateForm({ onDone, onCancel }: Omit<AccountFormProps, 'account'>) {
  const t = useAccountFormsText()
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [externalId, setExternalId] = useState('')
  const create = useMutation({
    mutationFn: () =>
      berth.operator.createAccount({
        email: email.trim(),
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        ...(externalId.trim() === '' ? {} : { external_id: externalId.trim() }),
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
      <TextField
        label={t.name}
        maxLength={100}
        value={name}
        error={errorOf('name')}
        onChange={(event) => setName(event.target.value)}
      />
      <TextField
        label={t.externalId}
        hint={t.externalIdAbout}
        maxLength={100}
        value={externalId}
        error={errorOf('external_id')}
        onChange={(event) => setExternalId(event.target.value)}
      />
    </Form>
  )
}

/** The operator's own words for an account. */
export function DescribeForm({ account, onDone, onCancel }: AccountFormProps) {
  const t = useAccountFormsText()
  const [name, setName] = useState(account.name)
  const [externalId, setExternalId] = useState(account.external_id ?? '')
  const [tags, setTags] = useState(account.tags.join(' '))
  const [notes, setNotes] = useState(account.notes ?? '')
  const save = useMutation({
    mutationFn: () =>
      berth.operator.updateAccount(account.account_id, {
        name: name.trim(),
        external_id: externalId.trim() || null,
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
      isReady={name.trim() !== ''}
      onSubmit={() => save.mutate()}
      onCancel={onCancel}
    >
      <TextField
        label={t.name}
        maxLength={100}
        autoFocus
        value={name}
        error={errorOf('name')}
        onChange={(event) => setName(event.target.value)}
      />
      <TextField
        label={t.externalId}
        hint={t.externalIdAbout}
        maxLength={100}
        value={externalId}
        error={errorOf('external_id')}
        onChange={(event) => setExternalId(event.target.value)}
      />
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
  const [reason, setReason] = useState('')
  const set = useMutation({
    mutationFn: () => {
      const limit = most.trim() === '' ? null : Number(most)
      return berth.operator.setLimits(account.account_id, { limits: { [name]: limit }, reason })
    },
    onSuccess: onDone,
  })
  const own = options.filter(({ value }) => account.quotas[value] !== undefined)
  return (
    <Form
      submit={t.setLimit}
      mutation={set}
      isReady={/^\d{0,9}$/.test(most.trim()) && reason.trim() !== ''}
      onSubmit={() => set.mutate()}
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
      <ReasonField reason={reason} error={set.error} onChange={setReason} />
    </Form>
  )
}

/** The amount that an account may owe. */
export function CreditLimitForm({ account, onDone, onCancel }: AccountFormProps) {
  const t = useAccountFormsText()
  const [limit, setLimit] = useState(account.credit_limit)
  const [reason, setReason] = useState('')
  const set = useMutation({
    mutationFn: () =>
      berth.operator.setCreditLimit(account.account_id, { credit_limit_rub: typedRubles(limit), reason }),
    onSuccess: onDone,
  })
  return (
    <Form
      submit={t.setCreditLimit}
      mutation={set}
      isReady={limit.trim() !== '' && reason.trim() !== ''}
      onSubmit={() => set.mutate()}
      onCancel={onCancel}
    >
      <p>{t.creditLimitAbout}</p>
      <TextField
        label={t.creditLimit}
        inputMode="decimal"
        autoFocus
        value={limit}
        error={useFieldError(set.error)('credit_limit_rub')}
        onChange={(event) => setLimit(event.target.value)}
      />
      <ReasonField reason={reason} error={set.error} onChange={setReason} />
    </Form>
  )
}

/** A dialog that closes an account, once its address is typed. */
export function CloseForm({ account, onDone, onCancel }: AccountFormProps) {
  const t = useAccountFormsText()
  const [reason, setReason] = useState('')
  const [force, setForce] = useState(false)
  const close = useMutation({
    mutationFn: () => berth.operator.closeAccount(account.account_id, { reason, force }),
    onSuccess: onDone,
  })
  return (
    <ConfirmDelete
      title={t.titles.close(account.email)}
      name={account.email}
      submit={t.actions.close}
      isReady={reason.trim() !== ''}
      mutation={close}
      onClose={onCancel}
    >
      <div className="stack">
        <p>{t.closeAbout}</p>
        <ReasonField reason={reason} error={close.error} onChange={setReason} />
        {account.server_count > 0 ? (
          <Check checked={force} onChange={(event) => setForce(event.target.checked)}>
            {t.force}
          </Check>
        ) : null}
      </div>
    </ConfirmDelete>
  )
}
