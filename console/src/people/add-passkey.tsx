import type { Person } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { OwnProof, useProof } from './own-proof.tsx'
import { useSecurityText } from './security-text.ts'
import { addPasskey, isCanceled } from './webauthn.ts'

interface AddPasskeyProps {
  person: Person
  onAdded: () => void
  onClose: () => void
}

export function AddPasskey({ person, onAdded, onClose }: AddPasskeyProps) {
  const t = useSecurityText()
  const [name, setName] = useState('')
  const proof = useProof(person)
  const add = useMutation({
    mutationFn: () => addPasskey(name, proof.given),
    onSuccess: () => {
      onAdded()
      onClose()
    },
  })
  return (
    <Dialog title={t.addPasskey} onClose={onClose}>
      <Form
        submit={t.next}
        mutation={{ isPending: add.isPending, error: isCanceled(add.error) ? null : add.error }}
        isReady={name.trim() !== '' && proof.isReady}
        onSubmit={() => add.mutate()}
        onCancel={onClose}
      >
        <p className="muted">{t.addPasskeyAbout}</p>
        <TextField
          label={t.passkeyName}
          hint={t.passkeyNameHint}
          value={name}
          autoFocus
          onChange={(event) => setName(event.target.value)}
        />
        <OwnProof person={person} proof={proof} />
      </Form>
    </Dialog>
  )
}
