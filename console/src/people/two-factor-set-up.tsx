import type { Person, TwoFactorSecret } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { encode } from 'uqr'
import { berth, queryClient } from '../client.ts'
import { Copy } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Form } from '../ui/form.tsx'
import { CodeField } from './code-field.tsx'
import { OwnPassword } from './own-password.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { useSecurityText } from './security-text.ts'

interface SetUpProps {
  person: Person
  onClose: () => void
}

/** Password, QR code with a first code, recovery codes. */
export function SetUpTwoFactor({ person, onClose }: SetUpProps) {
  const t = useSecurityText()
  const [password, setPassword] = useState('')
  const begin = useMutation({
    mutationFn: () => berth.person.beginTwoFactor(person.has_password ? { password } : {}),
  })
  return (
    <Dialog title={t.setUpTitle} onClose={onClose}>
      {begin.data ? (
        <ConfirmApp secret={begin.data} onClose={onClose} />
      ) : (
        <Form
          submit={t.next}
          mutation={begin}
          isReady={password !== '' || !person.has_password}
          onSubmit={() => begin.mutate()}
          onCancel={onClose}
        >
          <p className="muted">{t.setUpAbout}</p>
          <OwnPassword person={person} value={password} onChange={setPassword} />
        </Form>
      )}
    </Dialog>
  )
}

function ConfirmApp({ secret, onClose }: { secret: TwoFactorSecret; onClose: () => void }) {
  const t = useSecurityText()
  const [code, setCode] = useState('')
  const confirm = useMutation({
    mutationFn: () => berth.person.confirmTwoFactor({ code }),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ['session'] }),
  })
  if (confirm.data) return <RecoveryCodes codes={confirm.data.recovery_codes} onDone={onClose} />
  return (
    <Form
      submit={t.turnOn}
      mutation={confirm}
      isReady={code !== ''}
      onSubmit={() => confirm.mutate()}
      onCancel={onClose}
    >
      <div className="setup">
        <QrCode text={secret.uri} label={t.qrCode} />
        <div className="stack">
          <p>{t.scan}</p>
          <p className="small muted">
            {t.orType}
            <br />
            <Copy text={secret.secret} shown={secret.secret.replace(/(.{4})(?=.)/g, '$1 ')} />
          </p>
          <CodeField label={t.appCode} value={code} onChange={setCode} isOfApp />
        </div>
      </div>
    </Form>
  )
}

function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: 0 })
  const squares = data.flatMap((line, y) =>
    line.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  )
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
    >
      <path d={squares.join('')} />
    </svg>
  )
}
