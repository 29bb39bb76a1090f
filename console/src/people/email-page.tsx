import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { personQuery } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { Failed, Note } from '../ui/states.tsx'
import { takeSecret } from './queries.ts'
import { SignFrame } from './sign-frame.tsx'
import { SignInForm } from './sign-in-form.tsx'
import { usePeopleText } from './text.ts'

/** The page of the link that confirms a new address. The user must be signed in. */
export function EmailPage() {
  const t = usePeopleText()
  const [token] = useState(takeSecret)
  const person = useQuery(personQuery)
  const confirm = useMutation({
    mutationFn: () => berth.person.confirmEmailChange({ token }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['session'] }),
  })
  if (confirm.isSuccess)
    return (
      <SignFrame title={t.confirmEmail}>
        <Note>{t.emailChanged}</Note>
        <p className="small">
          <Link to="/account/security">{t.security}</Link>
        </p>
      </SignFrame>
    )
  return (
    <SignFrame
      title={t.confirmEmail}
      about={person.data ? t.confirmEmailAbout(person.data.email) : undefined}
    >
      {confirm.error ? <Failed error={confirm.error} /> : null}
      {person.data ? (
        <Button kind="primary" isBusy={confirm.isPending} onClick={() => confirm.mutate()}>
          {t.confirmEmail}
        </Button>
      ) : null}
      {person.error ? (
        <>
          <p className="muted">{t.signInFirst}</p>
          <SignInForm onSignedIn={() => void queryClient.invalidateQueries()} />
        </>
      ) : null}
    </SignFrame>
  )
}
