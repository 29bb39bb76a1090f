import type { Person } from '@berth/sdk'
import { useState } from 'react'
import { useFormats } from '../format.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/page.tsx'
import { Status } from '../ui/status.tsx'
import { useSecurityText } from './security-text.ts'
import { ChangeTwoFactor } from './two-factor-change.tsx'
import { SetUpTwoFactor } from './two-factor-set-up.tsx'

type Step = 'set-up' | 'disable' | 'codes'

/** Codes of an app beside the password. */
export function TwoFactorCard({ person }: { person: Person }) {
  const t = useSecurityText()
  const format = useFormats()
  const [step, setStep] = useState<Step | null>(null)
  const close = () => setStep(null)
  const { two_factor: state } = person
  return (
    <Card title={t.twoFactor}>
      <div className="body security-row">
        {state ? (
          <p>
            <Status tone="good">{t.twoFactorSince(format.date(state.enabled_at))}</Status>
            <span className="muted"> · {t.codesLeft(state.recovery_codes_left)}</span>
          </p>
        ) : (
          <p className="muted">{t.twoFactorAbout}</p>
        )}
        <div className="row">
          {state ? (
            <>
              <Button onClick={() => setStep('codes')}>{t.newCodes}</Button>
              <Button kind="danger" onClick={() => setStep('disable')}>
                {t.turnOff}
              </Button>
            </>
          ) : (
            <Button kind="primary" onClick={() => setStep('set-up')}>
              {t.setUp}
            </Button>
          )}
        </div>
      </div>
      {step === 'set-up' ? <SetUpTwoFactor person={person} onClose={close} /> : null}
      {step === 'disable' || step === 'codes' ? (
        <ChangeTwoFactor person={person} change={step} onClose={close} />
      ) : null}
    </Card>
  )
}
