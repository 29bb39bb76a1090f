import type { Person } from '@berth/sdk'
import { useState } from 'react'
import { berth } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/page.tsx'
import { ProofDialog } from './proof-dialog.tsx'
import { useSecurityText } from './security-text.ts'

/** The provider that signs the person in as well. */
export function ProviderCard({ person, name }: { person: Person; name: string }) {
  const t = useSecurityText()
  const [isAsking, setIsAsking] = useState(false)
  return (
    <Card title={t.provider}>
      <div className="body security-row">
        <p>{t.providerConnected(name)}</p>
        <Button kind="danger" onClick={() => setIsAsking(true)}>
          {t.disconnect}
        </Button>
      </div>
      {isAsking ? (
        <ProofDialog
          person={person}
          title={t.disconnectTitle(name)}
          about={t.othersEnd}
          submit={t.disconnect}
          change={(proof) => berth.person.removeIdentity(proof)}
          onClose={() => setIsAsking(false)}
        />
      ) : null}
    </Card>
  )
}
