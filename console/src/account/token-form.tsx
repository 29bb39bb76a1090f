import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { Check, SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { accountQuery } from './queries.ts'
import { ShownOnce } from './shown-once.tsx'
import { useAccountText } from './text.ts'

const all = ['account:read', 'account:write', 'servers:read', 'servers:write'] as const
type Scope = (typeof all)[number]

const lifetimes = ['', '7', '30', '90', '365'] as const
const DAY_MS = 86_400_000

const kinds = ['api', 'hcloud'] as const

/** The two lines that tools which speak the hcloud API read from their environment. */
const hcloudLines = (token: string) =>
  `export HCLOUD_ENDPOINT=${window.location.origin}/hcloud/v1\nexport HCLOUD_TOKEN=${token}`

export function TokenForm({ onDone }: { onDone: () => void }) {
  const t = useAccountText()
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>(['servers:read'])
  const [days, setDays] = useState<(typeof lifetimes)[number]>('90')
  const [kind, setKind] = useState<(typeof kinds)[number]>('api')
  const { has_hcloud = false } = useQuery(accountQuery).data ?? {}
  const create = useMutation({
    mutationFn: () => {
      const expires_at = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString()
      return berth.tokens.create({ name, scopes: [...scopes], expires_at, kind })
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['token'] }),
  })
  const toggle = (scope: Scope) =>
    setScopes(scopes.includes(scope) ? scopes.filter((own) => own !== scope) : [...scopes, scope])
  if (create.data) {
    const { token } = create.data
    const text = kind === 'hcloud' ? hcloudLines(token) : token
    return <ShownOnce note={t.tokenShown} text={text} onDone={onDone} />
  }
  return (
    <Form
      submit={t.newToken}
      mutation={create}
      isReady={name.trim() !== '' && scopes.length > 0}
      onSubmit={() => create.mutate()}
      onCancel={onDone}
    >
      <TextField label={t.name} value={name} autoFocus onChange={(event) => setName(event.target.value)} />
      {has_hcloud ? (
        <SelectField
          label={t.tokenFor}
          value={kind}
          options={kinds.map((value) => ({ value, title: t.tokenKinds[value] }))}
          onChange={setKind}
        />
      ) : null}
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
