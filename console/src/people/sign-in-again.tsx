import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { berth, onSessionEnd } from '../client.ts'
import { personQuery } from '../session.ts'
import { Dialog } from '../ui/dialog.tsx'
import { signInOptionsQuery } from './queries.ts'
import { SignInForm } from './sign-in-form.tsx'
import { usePeopleText } from './text.ts'

/** A dialog over the page when its session has ended, which preserves the user's input. */
export function SignInAgain() {
  const t = usePeopleText()
  const client = useQueryClient()
  const [hasEnded, setHasEnded] = useState(false)
  useEffect(() => onSessionEnd(() => setHasEnded(true)), [])
  if (!hasEnded) return null
  const before = client.getQueryData(personQuery.queryKey)
  const goOn = () => {
    setHasEnded(false)
    void client.invalidateQueries()
  }
  return (
    <Dialog title={t.ended} onClose={() => location.assign('/sign-in')}>
      <p className="muted">{t.endedAbout}</p>
      <SignInForm {...(before ? { email: before.email } : {})} onSignedIn={goOn} />
      <ProviderElsewhere personId={before?.person_id} onSignedIn={goOn} />
    </Dialog>
  )
}

/** The provider needs a whole tab, and this one has the user's input, so another one is opened. */
function ProviderElsewhere({
  personId,
  onSignedIn,
}: {
  personId: string | undefined
  onSignedIn: () => void
}) {
  const t = usePeopleText()
  const provider = useQuery(signInOptionsQuery).data?.provider
  useEffect(() => {
    const look = async () => {
      const person = await berth.person.get().catch(() => null)
      if (!person) return
      // Another person must not see the data of the previous one.
      if (personId === undefined || person.person_id === personId) onSignedIn()
      else location.assign('/')
    }
    const onReturn = () => {
      if (document.visibilityState === 'visible') void look()
    }
    document.addEventListener('visibilitychange', onReturn)
    return () => document.removeEventListener('visibilitychange', onReturn)
  })
  if (!provider) return null
  return (
    <a className="button" href={`${provider.origin}/sign-in`} target="_blank" rel="noopener">
      {t.withProviderElsewhere(provider.name)}
    </a>
  )
}
