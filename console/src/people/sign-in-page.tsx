import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { linkedAccount } from '../linked.ts'
import { setAccountOfTab } from '../tab.ts'
import { Failed } from '../ui/states.tsx'
import { CodeForm } from './code-form.tsx'
import { ProviderButton } from './provider-button.tsx'
import { signInOptionsQuery, takeSecret } from './queries.ts'
import { SignFrame } from './sign-frame.tsx'
import { SignInForm } from './sign-in-form.tsx'
import { usePeopleText } from './text.ts'

const route = getRouteApi('/sign-in')

/** Clears the data of the previous person, and opens the page and the account that this one requested. */
export function useEnter(next = '/'): () => void {
  const router = useRouter()
  return () => {
    setAccountOfTab(linkedAccount())
    queryClient.clear()
    router.history.push(next)
  }
}

export function SignInPage() {
  const t = usePeopleText()
  const { next } = route.useSearch()
  const enter = useEnter(next)
  const { data: options } = useQuery(signInOptionsQuery)
  const [secret] = useState(takeSecret)
  const link = useMutation({
    mutationFn: () => berth.signIn.withLink({ token: secret }),
    onSuccess: (result) => (result.ticket === null ? enter() : undefined),
  })
  const { mutate } = link
  useEffect(() => {
    if (secret !== '') mutate()
  }, [secret, mutate])
  if (link.data?.ticket)
    return (
      <SignFrame title={t.signIn}>
        <CodeForm ticket={link.data.ticket} onSignedIn={enter} />
      </SignFrame>
    )
  if (link.isPending || link.isSuccess) return <SignFrame title={t.checking}>{null}</SignFrame>
  return (
    <SignFrame title={t.signIn} about={t.signInAbout}>
      {link.error ? <Failed error={link.error} /> : null}
      <SignInForm onSignedIn={enter} />
      <ProviderButton next={next} />
      <p className="row between small">
        <Link to="/reset">{t.forgot}</Link>
        {options?.sign_up === 'open' ? <Link to="/sign-up">{t.signUp}</Link> : null}
      </p>
    </SignFrame>
  )
}
