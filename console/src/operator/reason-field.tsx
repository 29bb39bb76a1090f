import { TextField } from '../ui/field.tsx'
import { useFieldError } from '../ui/problems.ts'
import { useOperatorText } from './text.ts'

interface ReasonFieldProps {
  reason: string
  error: Error | null
  autoFocus?: boolean
  onChange: (reason: string) => void
}

/** Why an operator changes something of a customer, who sees it. */
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
