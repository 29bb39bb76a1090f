import { type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { TextField } from './field.tsx'
import { Failed } from './states.tsx'
import { useUiText } from './text.ts'

interface ConfirmDeleteProps {
  title: string
  /** The name that the user must type. */
  name: string
  /** The consequences of the deletion. */
  children: ReactNode
  /** (default: Delete) */
  submit?: string
  /** False while fields among the children are incomplete. */
  isReady?: boolean
  mutation: { mutate: () => void; isPending: boolean; error: Error | null }
  onClose: () => void
}

/** A dialog that explains a deletion and asks for the object's name. */
export function ConfirmDelete(props: ConfirmDeleteProps) {
  const { title, name, children, submit, isReady = true, mutation, onClose } = props
  const t = useUiText()
  const [typed, setTyped] = useState('')
  const isConfirmed = typed === name && isReady
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (isConfirmed) mutation.mutate()
        }}
      >
        <div>{children}</div>
        <TextField
          label={t.typeName(name)}
          value={typed}
          autoFocus
          onChange={(event) => setTyped(event.target.value)}
        />
        {mutation.error ? <Failed error={mutation.error} /> : null}
        <div className="actions">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button type="submit" kind="danger" disabled={!isConfirmed} isBusy={mutation.isPending}>
            {submit ?? t.delete}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
