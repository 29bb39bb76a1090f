import { TextField } from '../ui/field.tsx'
import { usePeopleText } from './text.ts'

interface CodeFieldProps {
  label: string
  value: string
  onChange: (value: string) => void
  /** True if recovery codes are not accepted. */
  isOfApp?: boolean
  autoFocus?: boolean
}

/** A code of the app, or a recovery code. */
export function CodeField({ label, value, onChange, isOfApp = false, autoFocus = false }: CodeFieldProps) {
  const t = usePeopleText()
  return (
    <TextField
      label={label}
      name="code"
      autoComplete="one-time-code"
      inputMode={isOfApp ? 'numeric' : 'text'}
      className="input mono"
      spellCheck={false}
      autoFocus={autoFocus}
      hint={isOfApp ? undefined : t.codeHint}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
