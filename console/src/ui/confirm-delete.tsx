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
  mutation: { mutate: () => void; isPending: boolean; error: Error | null }
  onClose: () => void
}

/** A dialog that explains a deletion and asks for the object's name. */
export function ConfirmDelete({ title, name, children, submit, mutation, onClose }: ConfirmDeleteProps) {
  const t = useUiText()
  const [typed, setTyped] = useState('')
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (typed === name) mutation.mutate()
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
          <Button type="submit" kind="danger" disabled={typed !== name} isBusy={mutation.isPending}>
            {submit ?? t.delete}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
