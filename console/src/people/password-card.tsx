import type { Person } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Card } from '../ui/page.tsx'
import { OwnProof, useProof } from './own-proof.tsx'
import { useSecurityText } from './security-text.ts'

export function PasswordCard({ person }: { person: Person }) {
  const t = useSecurityText()
  const proof = useProof(person)
  const [next, setNext] = useState('')
  const change = useMutation({
    mutationFn: () => {
      const { password, ...code } = proof.given
      return berth.person.changePassword({
        new_password: next,
        ...(password === undefined ? {} : { current_password: password }),
        ...code,
      })
    },
    onSuccess: () => {
      proof.setPassword('')
      proof.setCode('')
      setNext('')
      return queryClient.invalidateQueries({ queryKey: ['session'] })
    },
  })
  return (
    <Card title={t.password}>
      <div className="body narrow">
        <Form
          submit={person.has_password ? t.changePassword : t.choose}
          mutation={change}
          isReady={next !== '' && proof.isReady}
          onSubmit={() => change.mutate()}
        >
          <OwnProof person={person} proof={proof} />
          <TextField
            label={t.newPassword}
            type="password"
            autoComplete="new-password"
            value={next}
            onChange={(event) => setNext(event.target.value)}
          />
          <p role="status" className="muted small">
            {change.isSuccess ? t.changed : ''}
          </p>
        </Form>
      </div>
    </Card>
  )
}
