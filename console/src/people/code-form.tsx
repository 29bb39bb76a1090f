import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { Form } from '../ui/form.tsx'
import { CodeField } from './code-field.tsx'
import { usePeopleText } from './text.ts'

/** The second step of every sign-in, whichever way the first one used. */
export function CodeForm({ ticket, onSignedIn }: { ticket: string; onSignedIn: () => void }) {
  const t = usePeopleText()
  const [code, setCode] = useState('')
  const signIn = useMutation({
    mutationFn: () => berth.signIn.withCode({ ticket, code }),
    onSuccess: onSignedIn,
  })
  return (
    <Form submit={t.signIn} mutation={signIn} isReady={code !== ''} onSubmit={() => signIn.mutate()}>
      <CodeField label={t.code} value={code} onChange={setCode} autoFocus />
    </Form>
  )
}
