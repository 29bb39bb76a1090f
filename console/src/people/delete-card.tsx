import type { Person } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { setAccountOfTab } from '../tab.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Card } from '../ui/page.tsx'
import { Failed } from '../ui/states.tsx'
import { useUiText } from '../ui/text.ts'
import { OwnProof, useProof } from './own-proof.tsx'
import { useSecurityText } from './security-text.ts'

/** The card for deleting the person. */
export function DeleteCard({ person }: { person: Person }) {
  const t = useSecurityText()
  const [isAsking, setIsAsking] = useState(false)
  return (
    <Card title={t.deletePerson}>
      <div className="body security-row">
        <p className="muted">{t.deletePersonAbout}</p>
        <Button kind="danger" onClick={() => setIsAsking(true)}>
          {t.deletePerson}
        </Button>
      </div>
      {isAsking ? <DeletePerson person={person} onClose={() => setIsAsking(false)} /> : null}
    </Card>
  )
}

function DeletePerson({ person, onClose }: { person: Person; onClose: () => void }) {
  const t = useSecurityText()
  const words = useUiText()
  const [typed, setTyped] = useState('')
  const proof = useProof(person)
  const remove = useMutation({
    mutationFn: () => berth.person.delete(proof.given),
    // The page is reloaded, so that no data of this person stays in the tab.
    onSuccess: () => {
      setAccountOfTab(null)
      location.assign('/sign-in')
    },
  })
  const isReady = typed === person.email && proof.isReady
  return (
    <Dialog title={t.deletePersonTitle} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady && !remove.isPending) remove.mutate()
        }}
      >
        <ul className="lost">
          {t.deletePersonLoses.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        <TextField
          label={words.typeName(person.email)}
          value={typed}
          autoFocus
          onChange={(event) => setTyped(event.target.value.trim())}
        />
        <OwnProof person={person} proof={proof} />
        {remove.error ? <Failed error={remove.error} /> : null}
        <div className="actions">
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button
            type="submit"
            kind="danger"
            disabled={!isReady}
            isBusy={remove.isPending || remove.isSuccess}
          >
            {t.deletePerson}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
