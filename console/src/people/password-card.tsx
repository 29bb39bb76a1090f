import type { Person } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Card } from '../ui/page.tsx'
import { OwnPassword } from './own-password.tsx'
import { useSecurityText } from './security-text.ts'

export function PasswordCard({ person }: { person: Person }) {
  const t = useSecurityText()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const change = useMutation({
    mutationFn: () =>
      berth.person.changePassword({
        new_password: next,
        ...(person.has_password ? { current_password: current } : {}),
      }),
    onSuccess: () => {
      setCurrent('')
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
          isReady={next !== '' && (current !== '' || !person.has_password)}
          onSubmit={() => change.mutate()}
        >
          <OwnPassword person={person} value={current} onChange={setCurrent} />
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
