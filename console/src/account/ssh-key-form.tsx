import type { SshKey } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { TextArea, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useAccountText } from './text.ts'

interface SshKeyFormProps {
  onAdded: (key: SshKey) => void
  onCancel?: () => void
}

/** The comment at the end of the line mostly names the key's user and machine. */
const commentOf = (line: string) => line.trim().split(/\s+/).slice(2).join(' ')

export function SshKeyForm({ onAdded, onCancel }: SshKeyFormProps) {
  const t = useAccountText()
  const [name, setName] = useState('')
  const [line, setLine] = useState('')
  const given = name || commentOf(line)
  const add = useMutation({
    mutationFn: () => berth.sshKeys.create({ name: given, public_key: line.trim() }),
    onSuccess: async (key) => {
      await queryClient.invalidateQueries({ queryKey: ['ssh_key'] })
      onAdded(key)
    },
  })
  return (
    <Form
      submit={t.addKey}
      mutation={add}
      isReady={line.trim() !== '' && given !== ''}
      onSubmit={() => add.mutate()}
      {...(onCancel ? { onCancel } : {})}
    >
      <TextArea
        label={t.publicKey}
        hint={t.publicKeyHint}
        placeholder="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA… ann@laptop"
        value={line}
        onChange={(event) => setLine(event.target.value)}
      />
      <TextField
        label={t.name}
        placeholder={commentOf(line)}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
    </Form>
  )
}
