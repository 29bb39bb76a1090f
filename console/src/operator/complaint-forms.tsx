import { type Complaint, complaintKinds, type OperatedComplaint } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { useComplaintText } from '../complaints/text.ts'
import { SelectField, TextArea, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { useOperatedComplaintText } from './complaint-text.ts'
import { findAccount } from './queries.ts'

const LONGEST_TEXT = 4_000
const LONGEST_MESSAGE = 2_000
const outcomes = ['solved', 'unfounded', 'measures_taken'] as const

const refresh = () => queryClient.invalidateQueries({ queryKey: ['operator'] })

/** Opens a complaint about an account. */
export function ComplaintForm({ onDone }: { onDone: () => void }) {
  const t = useOperatedComplaintText()
  const { kinds, kind: kindTitle } = useComplaintText()
  const [account, setAccount] = useState('')
  const [server, setServer] = useState('')
  const [kind, setKind] = useState<Complaint['kind']>('spam')
  const [hours, setHours] = useState('24')
  const [text, setText] = useState('')
  const [isUnknown, setIsUnknown] = useState(false)
  const open = useMutation({
    mutationFn: async () => {
      const found = await findAccount(account.trim())
      setIsUnknown(found === null)
      if (found === null) return false
      const place = server.trim() === '' ? {} : { server_id: server.trim() }
      const body = { kind, text: text.trim(), deadline_hours: Number(hours), ...place }
      await berth.operator.openComplaint(found.account_id, body)
      return true
    },
    onSuccess: async (isOpened) => {
      if (!isOpened) return
      await refresh()
      onDone()
    },
  })
  const errorOf = useFieldError(open.error)
  return (
    <Form
      submit={t.create}
      mutation={open}
      isReady={account.trim() !== '' && text.trim() !== '' && /^\d+$/.test(hours)}
      onSubmit={() => open.mutate()}
      onCancel={onDone}
    >
      <p>{t.createAbout}</p>
      <TextField
        label={t.accountField}
        value={account}
        error={isUnknown ? t.noAccount : null}
        onChange={(event) => setAccount(event.target.value)}
      />
      <TextField
        label={t.server}
        hint={t.serverHint}
        value={server}
        error={errorOf('server_id')}
        onChange={(event) => setServer(event.target.value)}
      />
      <SelectField
        label={kindTitle}
        value={kind}
        options={complaintKinds.map((value) => ({ value, title: kinds[value] }))}
        onChange={setKind}
      />
      <TextField
        label={t.hours}
        inputMode="numeric"
        value={hours}
        error={errorOf('deadline_hours')}
        onChange={(event) => setHours(event.target.value)}
      />
      <TextArea
        label={t.text}
        hint={t.textHint}
        rows={6}
        maxLength={LONGEST_TEXT}
        value={text}
        error={errorOf('text')}
        onChange={(event) => setText(event.target.value)}
      />
    </Form>
  )
}

/** Asks the customer for another answer. */
export function ReplyForm({ complaint: { complaint_id } }: { complaint: OperatedComplaint }) {
  const t = useOperatedComplaintText()
  const [text, setText] = useState('')
  const reply = useMutation({
    mutationFn: () => berth.operator.replyToComplaint(complaint_id, { text: text.trim() }),
    onSuccess: async () => {
      setText('')
      await refresh()
    },
  })
  return (
    <Form submit={t.reply} mutation={reply} isReady={text.trim() !== ''} onSubmit={() => reply.mutate()}>
      <TextArea
        label={t.text}
        hint={t.replyAbout}
        maxLength={LONGEST_MESSAGE}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </Form>
  )
}

/** Ends a complaint. */
export function CloseForm({ complaint: { complaint_id } }: { complaint: OperatedComplaint }) {
  const t = useOperatedComplaintText()
  const titles = useComplaintText().outcomes
  const [outcome, setOutcome] = useState<(typeof outcomes)[number]>('solved')
  const [text, setText] = useState('')
  const close = useMutation({
    mutationFn: () =>
      berth.operator.closeComplaint(complaint_id, {
        outcome,
        ...(text.trim() === '' ? {} : { text: text.trim() }),
      }),
    onSuccess: refresh,
  })
  return (
    <Form submit={t.close} mutation={close} onSubmit={() => close.mutate()}>
      <SelectField
        label={t.outcome}
        value={outcome}
        options={outcomes.map((value) => ({ value, title: titles[value] }))}
        onChange={setOutcome}
      />
      <TextArea
        label={t.lastWords}
        maxLength={LONGEST_MESSAGE}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </Form>
  )
}
