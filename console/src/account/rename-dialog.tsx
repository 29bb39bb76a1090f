import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useUiText } from '../ui/text.ts'
import { useAccountText } from './text.ts'

interface RenameDialogProps {
  name: string
  rename: (name: string) => Promise<unknown>
  onRenamed: () => Promise<unknown>
  onClose: () => void
}

export function RenameDialog({ name, rename, onRenamed, onClose }: RenameDialogProps) {
  const t = useAccountText()
  const words = useUiText()
  const [typed, setTyped] = useState(name)
  const save = useMutation({
    mutationFn: () => rename(typed),
    onSuccess: async () => {
      await onRenamed()
      onClose()
    },
  })
  return (
    <Dialog title={t.rename} onClose={onClose}>
      <Form
        submit={words.save}
        mutation={save}
        isReady={typed.trim() !== ''}
        onSubmit={() => save.mutate()}
        onCancel={onClose}
      >
        <TextField
          label={t.name}
          value={typed}
          autoFocus
          onChange={(event) => setTyped(event.target.value)}
        />
      </Form>
    </Dialog>
  )
}
