import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { usePreferences } from '../preferences.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Note } from '../ui/states.tsx'
import { usePeopleText } from './text.ts'

interface SendLinkProps {
  send: (request: { email: string; language: 'en' | 'ru' }) => Promise<unknown>
}

/** Prompts for an address, and shows the same reply for known and unknown ones. */
export function SendLink({ send }: SendLinkProps) {
  const t = usePeopleText()
  const { locale: language } = usePreferences()
  const [email, setEmail] = useState('')
  const ask = useMutation({ mutationFn: () => send({ email, language }) })
  return (
    <>
      {ask.isSuccess ? (
        <Note>{t.sent(email)}</Note>
      ) : (
        <Form submit={t.sendLink} mutation={ask} isReady={email !== ''} onSubmit={() => ask.mutate()}>
          <TextField
            label={t.email}
            type="email"
            name="email"
            autoComplete="username"
            autoFocus
            value={email}
            onChange={(event) => setEmail(event.target.value.trim())}
          />
        </Form>
      )}
      <p className="small">
        <Link to="/sign-in">{t.back}</Link>
      </p>
    </>
  )
}
