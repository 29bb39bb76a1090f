import type { Person } from '@berth/sdk'
import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/page.tsx'
import { ChangeEmail } from './change-email.tsx'
import { useSecurityText } from './security-text.ts'

/** The address that the person signs in with. */
export function EmailCard({ person }: { person: Person }) {
  const t = useSecurityText()
  const [isChanging, setIsChanging] = useState(false)
  return (
    <Card title={t.email}>
      <div className="body security-row">
        <p>{person.email}</p>
        <Button onClick={() => setIsChanging(true)}>{t.changeEmail}</Button>
      </div>
      {isChanging ? <ChangeEmail person={person} onClose={() => setIsChanging(false)} /> : null}
    </Card>
  )
}
