import type { Person } from '@berth/sdk'
import { TextField } from '../ui/field.tsx'
import { RecentSignIn } from './recent-sign-in.tsx'
import { useSecurityText } from './security-text.ts'

interface OwnPasswordProps {
  person: Pick<Person, 'has_password'>
  value: string
  onChange: (value: string) => void
}

/** Asks for the password before a change of sign-in; users without one must have signed in recently. */
export function OwnPassword({ person, value, onChange }: OwnPasswordProps) {
  const t = useSecurityText()
  if (!person.has_password) return <RecentSignIn />
  return (
    <TextField
      label={t.currentPassword}
      type="password"
      autoComplete="current-password"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
