import type { SshKey } from '@berth/sdk'
import { useState } from 'react'
import { SshKeyForm } from '../../account/ssh-key-form.tsx'
import { Button } from '../../ui/button.tsx'
import { Check } from '../../ui/field.tsx'
import { Allowed } from '../../ui/guarded.tsx'
import { Card } from '../../ui/page.tsx'
import type { ChangeOrder, Order } from './order.ts'
import { useCreateText } from './text.ts'

interface KeySectionProps {
  order: Order
  onChange: ChangeOrder
  keys: readonly SshKey[]
}

/** The choice of the keys that may log in; another key can be pasted without leaving the page. */
export function KeySection({ order, onChange, keys }: KeySectionProps) {
  const t = useCreateText()
  const [isPasting, setIsPasting] = useState(keys.length === 0)
  const chosen = order.ssh_key_ids
  const toggle = (id: string) =>
    onChange({ ssh_key_ids: chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id] })
  return (
    <Card
      title={t.login}
      actions={
        isPasting ? null : (
          <Allowed scope="account:write">
            <Button kind="quiet" icon="plus" onClick={() => setIsPasting(true)}>
              {t.addKey}
            </Button>
          </Allowed>
        )
      }
    >
      <div className="body stack">
        {keys.map(({ ssh_key_id, name, fingerprint }) => (
          <Check key={ssh_key_id} checked={chosen.includes(ssh_key_id)} onChange={() => toggle(ssh_key_id)}>
            {name} <span className="mono muted">{fingerprint.slice(0, 23)}…</span>
          </Check>
        ))}
        {chosen.length === 0 ? <p className="muted small">{t.noKeys}</p> : null}
        {isPasting ? (
          <Allowed scope="account:write">
            <SshKeyForm
              onAdded={({ ssh_key_id }) => {
                onChange({ ssh_key_ids: [...chosen, ssh_key_id] })
                setIsPasting(false)
              }}
              {...(keys.length > 0 ? { onCancel: () => setIsPasting(false) } : {})}
            />
          </Allowed>
        ) : null}
      </div>
    </Card>
  )
}
