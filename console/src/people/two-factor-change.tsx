import type { Person } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Form } from '../ui/form.tsx'
import { CodeField } from './code-field.tsx'
import { OwnPassword } from './own-password.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { useSecurityText } from './security-text.ts'

interface ChangeProps {
  person: Person
  change: 'disable' | 'codes'
  onClose: () => void
}

/** Changes of two-factor authentication, which need both factors again. */
export function ChangeTwoFactor({ person, change, onClose }: ChangeProps) {
  const t = useSecurityText()
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const proof = { code, ...(person.has_password ? { password } : {}) }
  const mutation = useMutation({
    mutationFn: async () => {
      if (change === 'codes') return berth.person.replaceRecoveryCodes(proof)
      await berth.person.disableTwoFactor(proof)
      return null
    },
    onSuccess: (codes) => {
      void queryClient.invalidateQueries({ queryKey: ['session'] })
      if (!codes) onClose()
    },
  })
  const texts =
    change === 'codes'
      ? { title: t.newCodes, about: t.newCodesAbout }
      : { title: t.turnOff, about: t.turnOffAbout }
  return (
    <Dialog title={texts.title} onClose={onClose}>
      {mutation.data ? (
        <RecoveryCodes codes={mutation.data.recovery_codes} onDone={onClose} />
      ) : (
        <Form
          submit={texts.title}
          mutation={mutation}
          isReady={code !== '' && (password !== '' || !person.has_password)}
          onSubmit={() => mutation.mutate()}
          onCancel={onClose}
        >
          <p className="muted">{texts.about}</p>
          <OwnPassword person={person} value={password} onChange={setPassword} />
          <CodeField label={t.code} value={code} onChange={setCode} />
        </Form>
      )}
    </Dialog>
  )
}
