import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { TextField } from '../ui/field.tsx'
import { useFieldError } from '../ui/problems.ts'
import { useOperatorText } from './text.ts'

interface ReasonFieldProps {
  reason: string
  error: Error | null
  autoFocus?: boolean
  onChange: (reason: string) => void
}

/** The field for the reason of an operator's change, which the customer sees. */
export function ReasonField({ reason, error, autoFocus = false, onChange }: ReasonFieldProps) {
  const t = useOperatorText()
  return (
    <TextField
      label={t.reason}
      hint={t.reasonAbout}
      maxLength={200}
      autoFocus={autoFocus}
      value={reason}
      error={useFieldError(error)('reason')}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

/** A change that takes a reason: its mutation, whether there is a reason, and the props of the field for it. */
export function useReasoned<Result>(
  change: (reason: string) => Promise<Result>,
  onDone: (result: Result) => Promise<void>,
) {
  const [reason, setReason] = useState('')
  const mutation = useMutation({ mutationFn: () => change(reason), onSuccess: onDone })
  return {
    mutation,
    hasReason: reason.trim() !== '',
    field: { reason, error: mutation.error, onChange: setReason },
  }
}
