import type { OperatedServer } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { useServersText } from '../servers/text.ts'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Check, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { findAccount } from './queries.ts'
import { ReasonField } from './reason-field.tsx'
import { useOperatedServerText } from './server-text.ts'

const calls = {
  start: berth.operator.startServer,
  stop: berth.operator.stopServer,
  reboot: berth.operator.rebootServer,
  suspend: berth.operator.suspendServer,
  resume: berth.operator.resumeServer,
}

export type ServerAction = keyof typeof calls | 'move' | 'delete'

interface FormProps {
  server: OperatedServer
  onClose: () => void
}

/** An operator's change of a server, with the reason that its owner sees. */
export function ServerChange({ server, action, onClose }: FormProps & { action: ServerAction }) {
  const t = useOperatedServerText()
  const props = { server, onClose }
  if (action === 'delete') return <DeleteForm {...props} />
  return (
    <Dialog title={t.titles[action](server.name)} onClose={onClose}>
      {action === 'move' ? <MoveForm {...props} /> : <ChangeForm {...props} action={action} />}
    </Dialog>
  )
}

const refresh = () => queryClient.invalidateQueries({ queryKey: ['operator', 'servers'] })

function ChangeForm({ server, action, onClose }: FormProps & { action: keyof typeof calls }) {
  const t = useOperatedServerText()
  const words = useServersText()
  const [reason, setReason] = useState('')
  const [force, setForce] = useState(false)
  const change = useMutation({
    mutationFn: async () => {
      await calls[action](server.server_id, { reason, ...(force ? { force } : {}) })
    },
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <Form
      submit={t.actions[action]}
      mutation={change}
      isReady={reason.trim() !== ''}
      onSubmit={() => change.mutate()}
      onCancel={onClose}
    >
      <p>{t.effects[action]}</p>
      <ReasonField reason={reason} error={change.error} autoFocus onChange={setReason} />
      {action === 'stop' || action === 'reboot' ? (
        <Check checked={force} onChange={(event) => setForce(event.target.checked)}>
          {words.force}
        </Check>
      ) : null}
    </Form>
  )
}

function MoveForm({ server, onClose }: FormProps) {
  const t = useOperatedServerText()
  const [receiver, setReceiver] = useState('')
  const [reason, setReason] = useState('')
  const move = useMutation({
    mutationFn: async () => {
      const account = await findAccount(receiver.trim())
      if (account)
        await berth.operator.moveServer(server.server_id, { account_id: account.account_id, reason })
      return account !== null
    },
    onSuccess: async (isMoved) => {
      if (!isMoved) return
      await refresh()
      onClose()
    },
  })
  return (
    <Form
      submit={t.actions.move}
      mutation={move}
      isReady={receiver.trim() !== '' && reason.trim() !== ''}
      onSubmit={() => move.mutate()}
      onCancel={onClose}
    >
      <p>{t.effects.move}</p>
      <TextField
        label={t.receiver}
        autoFocus
        value={receiver}
        error={move.data === false ? t.noAccount : null}
        onChange={(event) => setReceiver(event.target.value)}
      />
      <ReasonField reason={reason} error={move.error} onChange={setReason} />
    </Form>
  )
}

function DeleteForm({ server, onClose }: FormProps) {
  const t = useOperatedServerText()
  const [reason, setReason] = useState('')
  const [force, setForce] = useState(false)
  const remove = useMutation({
    mutationFn: () => berth.operator.deleteServer(server.server_id, { reason, force }),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <ConfirmDelete
      title={t.titles.delete(server.name)}
      name={server.name}
      isReady={reason.trim() !== ''}
      mutation={remove}
      onClose={onClose}
    >
      <div className="stack">
        <p>{t.effects.delete}</p>
        <ReasonField reason={reason} error={remove.error} onChange={setReason} />
        {server.delete_protection ? (
          <Check checked={force} onChange={(event) => setForce(event.target.checked)}>
            {t.protected}
          </Check>
        ) : null}
      </div>
    </ConfirmDelete>
  )
}
