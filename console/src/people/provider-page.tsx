import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { berth } from '../client.ts'
import { usePreferences } from '../preferences.ts'
import { Failed, Note } from '../ui/states.tsx'
import { CodeForm } from './code-form.tsx'
import { takeAnswer } from './provider.ts'
import { SignFrame } from './sign-frame.tsx'
import { SignInForm } from './sign-in-form.tsx'
import { useEnter } from './sign-in-page.tsx'
import { usePeopleText } from './text.ts'

/** The page that the provider redirects back to. */
export function ProviderPage() {
  const t = usePeopleText()
  const { locale: language } = usePreferences()
  const [given] = useState(takeAnswer)
  const enter = useEnter(given?.next)
  const signIn = useMutation({
    mutationFn: ({ next: _, ...answered }: NonNullable<ReturnType<typeof takeAnswer>>) =>
      berth.signIn.withProvider({ ...answered, language }),
    onSuccess: ({ is_signed_in }) => (is_signed_in ? enter() : undefined),
  })
  const { mutate } = signIn
  useEffect(() => {
    if (given) mutate(given)
  }, [given, mutate])
  const { ticket = null, identity_ticket = null } = signIn.data ?? {}
  if (ticket !== null)
    return (
      <SignFrame title={t.signIn}>
        <CodeForm ticket={ticket} onSignedIn={enter} />
      </SignFrame>
    )
  if (identity_ticket !== null) return <Connect ticket={identity_ticket} onConnected={enter} />
  if (given && !signIn.error) return <SignFrame title={t.checking}>{null}</SignFrame>
  return (
    <SignFrame title={t.signIn}>
      {signIn.error ? <Failed error={signIn.error} /> : <Note>{t.beginAgain}</Note>}
      <p className="small">
        <Link to="/sign-in">{t.back}</Link>
      </p>
    </SignFrame>
  )
}

/** A user who has already signed up with the address proves once that it is theirs. */
function Connect({ ticket, onConnected }: { ticket: string; onConnected: () => void }) {
  const t = usePeopleText()
  const connect = useMutation({
    mutationFn: () => berth.person.addIdentity({ identity_ticket: ticket }),
    onSuccess: onConnected,
  })
  return (
    <SignFrame title={t.signIn} about={t.connectAbout}>
      {connect.error ? <Failed error={connect.error} /> : null}
      <SignInForm onSignedIn={() => connect.mutate()} />
    </SignFrame>
  )
}
