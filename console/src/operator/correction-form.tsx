import type { Document, DocumentDetails } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useBillingText } from '../billing/text.ts'
import { berth, queryClient } from '../client.ts'
import { typedRubles, useFormats } from '../format.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { Loaded } from '../ui/states.tsx'
import { useDocumentText } from './document-text.ts'
import { operatedDocumentQuery } from './queries.ts'

interface FormProps {
  accountId: string
  invoice: Document
  onDone: () => void
}

/** A credit or debit note of an invoice. */
export function CorrectionForm({ accountId, invoice, onDone }: FormProps) {
  const query = useQuery(operatedDocumentQuery(accountId, invoice.document_id))
  return (
    <Loaded query={query}>
      {(details) => <Fields accountId={accountId} invoice={details} onDone={onDone} />}
    </Loaded>
  )
}

const types = ['credit_note', 'debit_note'] as const
const WHOLE = ''

function Fields({ accountId, invoice, onDone }: FormProps & { invoice: DocumentDetails }) {
  const t = useDocumentText()
  const { documentTypes } = useBillingText()
  const { money } = useFormats()
  const [type, setType] = useState<(typeof types)[number]>('credit_note')
  const [item, setItem] = useState(WHOLE)
  const [amount, setAmount] = useState('')
  const [reason, setReason] = useState('')
  // Each form has one reference, so that a correction sent twice is issued and booked once.
  const [reference] = useState(() => `console-${Date.now()}`)
  const save = useMutation({
    mutationFn: () => {
      const line = { amount_rub: typedRubles(amount), ...(item === WHOLE ? {} : { item_id: item }) }
      const body = { type, lines: [line], reason: reason.trim(), reference }
      return berth.operator.correctDocument(accountId, invoice.document_id, body)
    },
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['operator'] })
      onDone()
    },
  })
  const errorOf = useFieldError(save.error)
  const items = invoice.projects.flatMap((project) => project.items)
  return (
    <Form
      submit={t.types[type]}
      mutation={save}
      isReady={amount.trim() !== '' && reason.trim() !== ''}
      onSubmit={() => save.mutate()}
      onCancel={onDone}
    >
      <p>{t.formAbout}</p>
      <SelectField
        label={t.type}
        value={type}
        options={types.map((value) => ({ value, title: documentTypes[value] }))}
        onChange={setType}
      />
      <SelectField
        label={t.item}
        value={item}
        options={[
          { value: WHOLE, title: t.whole },
          ...items.map(({ item_id, name, amount_rub }) => ({
            value: item_id,
            title: `${name}: ${money(amount_rub)}`,
          })),
        ]}
        onChange={setItem}
      />
      <TextField
        label={t.amount}
        hint={invoice.vat?.is_included === false ? t.withoutVat : t.asItems}
        inputMode="decimal"
        value={amount}
        error={errorOf('lines.0.amount_rub')}
        onChange={(event) => setAmount(event.target.value)}
      />
      <TextField
        label={t.reason}
        hint={t.reasonAbout}
        maxLength={200}
        value={reason}
        error={errorOf('reason')}
        onChange={(event) => setReason(event.target.value)}
      />
    </Form>
  )
}
