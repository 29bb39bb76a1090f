import type { SignIn } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Check, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { CodeForm } from './code-form.tsx'
import { TermsLink } from './hoster.tsx'
import { signInOptionsQuery } from './queries.ts'
import { useEnter } from './sign-in-page.tsx'
import { usePeopleText } from './text.ts'

interface ChoosePasswordProps {
  submit: string
  hasName?: boolean
  choose: (password: string, name: string, terms: { accepted_terms?: string }) => Promise<SignIn>
}

/** The form that the link in an e-mail leads to. */
export function ChoosePassword({ submit, hasName = false, choose }: ChoosePasswordProps) {
  const t = usePeopleText()
  const enter = useEnter()
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const { data: options } = useQuery(signInOptionsQuery)
  const least = options?.min_password ?? 0
  const terms = hasName ? options?.operator.terms : null
  const [hasAccepted, setHasAccepted] = useState(false)
  const finish = useMutation({
    mutationFn: () => choose(password, name, terms ? { accepted_terms: terms.version } : {}),
    onSuccess: (result) => (result.ticket === null ? enter() : undefined),
  })
  if (finish.data?.ticket) return <CodeForm ticket={finish.data.ticket} onSignedIn={enter} />
  const isReady = password.length >= least && (!hasName || name.trim() !== '') && (!terms || hasAccepted)
  return (
    <Form submit={submit} mutation={finish} isReady={isReady} onSubmit={() => finish.mutate()}>
      {hasName ? (
        <TextField
          label={t.name}
          name="name"
          autoComplete="name"
          autoFocus
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      ) : null}
      <TextField
        label={t.newPassword}
        hint={t.passwordHint(least)}
        type="password"
        name="password"
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      {terms ? (
        <Check checked={hasAccepted} onChange={(event) => setHasAccepted(event.target.checked)}>
          {t.acceptTerms} <TermsLink terms={terms} />
        </Check>
      ) : null}
    </Form>
  )
}
