import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { Check, SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { ShownOnce } from './shown-once.tsx'
import { useAccountText } from './text.ts'

const all = ['account:read', 'account:write', 'servers:read', 'servers:write'] as const
type Scope = (typeof all)[number]

const lifetimes = ['', '7', '30', '90', '365'] as const
const DAY_MS = 86_400_000

export function TokenForm({ onDone }: { onDone: () => void }) {
  const t = useAccountText()
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>(['servers:read'])
  const [days, setDays] = useState<(typeof lifetimes)[number]>('90')
  const create = useMutation({
    mutationFn: () => {
      const expires_at = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString()
      return berth.tokens.create({ name, scopes: [...scopes], expires_at })
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['token'] }),
  })
  const toggle = (scope: Scope) =>
    setScopes(scopes.includes(scope) ? scopes.filter((own) => own !== scope) : [...scopes, scope])
  if (create.data) return <ShownOnce note={t.tokenShown} text={create.data.token} onDone={onDone} />
  return (
    <Form
      submit={t.newToken}
      mutation={create}
      isReady={name.trim() !== '' && scopes.length > 0}
      onSubmit={() => create.mutate()}
      onCancel={onDone}
    >
      <TextField label={t.name} value={name} autoFocus onChange={(event) => setName(event.target.value)} />
      <fieldset className="stack" style={{ gap: 8 }}>
        <legend className="legend">{t.scopes}</legend>
        {all.map((scope) => (
          <Check key={scope} checked={scopes.includes(scope)} onChange={() => toggle(scope)}>
            <code>{scope}</code> <span className="muted">{t.scopeNames[scope]}</span>
          </Check>
        ))}
      </fieldset>
      <SelectField
        label={t.expires}
        value={days}
        options={lifetimes.map((value) => ({
          value,
          title: value === '' ? t.never : t.days(Number(value)),
        }))}
        onChange={setDays}
      />
    </Form>
  )
}
