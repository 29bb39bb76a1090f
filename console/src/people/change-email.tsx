import type { Person } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Note } from '../ui/states.tsx'
import { useUiText } from '../ui/text.ts'
import { OwnProof, useProof } from './own-proof.tsx'
import { useSecurityText } from './security-text.ts'

/** Asks for a link to another address, which confirms it. */
export function ChangeEmail({ person, onClose }: { person: Person; onClose: () => void }) {
  const t = useSecurityText()
  const words = useUiText()
  const [email, setEmail] = useState('')
  const proof = useProof(person)
  const ask = useMutation({
    mutationFn: () => berth.person.requestEmailChange({ email, ...proof.given }),
  })
  return (
    <Dialog title={t.changeEmail} onClose={onClose}>
      {ask.isSuccess ? (
        <>
          <Note>{t.emailSent(email)}</Note>
          <div className="row">
            <Button onClick={onClose}>{words.close}</Button>
          </div>
        </>
      ) : (
        <Form
          submit={t.sendLink}
          mutation={ask}
          isReady={email !== '' && proof.isReady}
          onSubmit={() => ask.mutate()}
          onCancel={onClose}
        >
          <p className="muted">{t.changeEmailAbout}</p>
          <TextField
            label={t.newEmail}
            type="email"
            autoComplete="email"
            autoFocus
            value={email}
            onChange={(event) => setEmail(event.target.value.trim())}
          />
          <OwnProof person={person} proof={proof} />
        </Form>
      )}
    </Dialog>
  )
}
