import type { WebhookCreate } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { ShownOnce } from './shown-once.tsx'
import { useAccountText } from './text.ts'

export function WebhookForm({ onDone }: { onDone: () => void }) {
  const t = useAccountText()
  const [name, setName] = useState('')
  const [url, setUrl] = useState('')
  const [types, setTypes] = useState('*')
  const create = useMutation({
    mutationFn: () => {
      // The API validates the types and reports unknown ones.
      const event_types = types.split(/[\s,]+/).filter((type) => type !== '') as WebhookCreate['event_types']
      return berth.webhooks.create({ name, url, event_types })
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['webhook'] }),
  })
  const fieldError = useFieldError(create.error)
  if (create.data) return <ShownOnce note={t.secretShown} text={create.data.secret} onDone={onDone} />
  return (
    <Form
      submit={t.newWebhook}
      mutation={create}
      isReady={name.trim() !== '' && url.trim() !== ''}
      onSubmit={() => create.mutate()}
      onCancel={onDone}
    >
      <TextField label={t.name} value={name} autoFocus onChange={(event) => setName(event.target.value)} />
      <TextField
        label={t.url}
        hint={t.urlHint}
        error={fieldError('url')}
        inputMode="url"
        placeholder="https://example.com/berth"
        value={url}
        onChange={(event) => setUrl(event.target.value.trim())}
      />
      <TextField
        label={t.events}
        hint={t.eventsHint}
        value={types}
        onChange={(event) => setTypes(event.target.value)}
      />
    </Form>
  )
}
