import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { onSessionEnd } from '../client.ts'
import { personQuery } from '../session.ts'
import { Dialog } from '../ui/dialog.tsx'
import { SignInForm } from './sign-in-form.tsx'
import { usePeopleText } from './text.ts'

/** Over the page when its session has ended: what was typed below stays as it is. */
export function SignInAgain() {
  const t = usePeopleText()
  const client = useQueryClient()
  const [hasEnded, setHasEnded] = useState(false)
  useEffect(() => onSessionEnd(() => setHasEnded(true)), [])
  if (!hasEnded) return null
  const before = client.getQueryData(personQuery.queryKey)
  return (
    <Dialog title={t.ended} onClose={() => location.assign('/sign-in')}>
      <p className="muted">{t.endedAbout}</p>
      <SignInForm
        {...(before ? { email: before.email } : {})}
        onSignedIn={() => {
          setHasEnded(false)
          void client.invalidateQueries()
        }}
      />
    </Dialog>
  )
}
