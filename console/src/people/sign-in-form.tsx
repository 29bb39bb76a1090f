import { isBerthError } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { CodeForm } from './code-form.tsx'
import { PasskeyButton } from './passkey-button.tsx'
import { signInOptionsQuery } from './queries.ts'
import { usePeopleText } from './text.ts'

/** Used by the sign-in page, and by the dialog that appears when a session has ended. */
export function SignInForm({ email: first = '', onSignedIn }: { email?: string; onSignedIn: () => void }) {
  const t = usePeopleText()
  const [email, setEmail] = useState(first)
  const [password, setPassword] = useState('')
  const options = useQuery(signInOptionsQuery).data
  const hasOtherWays = options && (options.passkey_origin !== null || options.provider !== null)
  const signIn = useMutation({
    mutationFn: () => berth.signIn.withPassword({ email, password }),
    onSuccess: (result) => (result.ticket === null ? onSignedIn() : undefined),
  })
  if (signIn.data?.ticket) return <CodeForm ticket={signIn.data.ticket} onSignedIn={onSignedIn} />
  return (
    <>
      <Form
        submit={t.signIn}
        mutation={signIn}
        isReady={email !== '' && password !== ''}
        onSubmit={() => signIn.mutate()}
      >
        <TextField
          label={t.email}
          type="email"
          name="email"
          autoComplete="username"
          autoFocus={first === ''}
          value={email}
          onChange={(event) => setEmail(event.target.value.trim())}
        />
        <TextField
          label={t.password}
          type="password"
          name="password"
          autoComplete="current-password"
          autoFocus={first !== ''}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Form>
      {hasOtherWays && isBerthError(signIn.error, 'rate_limited') ? (
        <p className="muted">{t.withoutWaiting}</p>
      ) : null}
      <PasskeyButton onSignedIn={onSignedIn} />
    </>
  )
}
