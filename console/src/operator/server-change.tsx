import type { OperatedServer } from '@berth/sdk'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { useServersText } from '../servers/text.ts'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Check, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { findAccount } from './queries.ts'
import { ReasonField, useReasoned } from './reason-field.tsx'
import { useOperatedServerText } from './server-text.ts'

const calls = {
  start: berth.operator.startServer,
  stop: berth.operator.stopServer,
  reboot: berth.operator.rebootServer,
  suspend: berth.operator.suspendServer,
  resume: berth.operator.resumeServer,
}

export type ServerAction = keyof typeof calls | 'move' | 'delete'

interface ServerChangeProps {
  server: OperatedServer
  action: ServerAction
  onClose: () => void
}

/** An operator's change of a server, with the reason that its owner sees. */
export function ServerChange({ server, action, onClose }: ServerChangeProps) {
  const t = useOperatedServerText()
  const onDone = async () => {
    await queryClient.invalidateQueries({ queryKey: ['operator', 'servers'] })
    onClose()
  }
  const props = { server, onDone, onCancel: onClose }
  if (action === 'delete') return <DeleteForm {...props} />
  return (
    <Dialog title={t.titles[action](server.name)} onClose={onClose}>
      {action === 'move' ? <MoveForm {...props} /> : <ChangeForm {...props} action={action} />}
    </Dialog>
  )
}

interface FormProps {
  server: OperatedServer
  onDone: () => Promise<void>
  onCancel: () => void
}

function ChangeForm({ server, action, onDone, onCancel }: FormProps & { action: keyof typeof calls }) {
  const t = useOperatedServerText()
  const words = useServersText()
  const [force, setForce] = useState(false)
  const { mutation, hasReason, field } = useReasoned(async (reason) => {
    await calls[action](server.server_id, { reason, ...(force ? { force } : {}) })
  }, onDone)
  return (
    <Form
      submit={t.actions[action]}
      mutation={mutation}
      isReady={hasReason}
      onSubmit={() => mutation.mutate()}
      onCancel={onCancel}
    >
      <p>{t.effects[action]}</p>
      <ReasonField {...field} autoFocus />
      {action === 'stop' || action === 'reboot' ? (
        <Check checked={force} onChange={(event) => setForce(event.target.checked)}>
          {words.force}
        </Check>
      ) : null}
    </Form>
  )
}

function MoveForm({ server, onDone, onCancel }: FormProps) {
  const t = useOperatedServerText()
  const [receiver, setReceiver] = useState('')
  const { mutation, hasReason, field } = useReasoned(
    async (reason) => {
      const account = await findAccount(receiver.trim())
      if (account)
        await berth.operator.moveServer(server.server_id, { account_id: account.account_id, reason })
      return account !== null
    },
    async (isMoved) => {
      if (isMoved) await onDone()
    },
  )
  return (
    <Form
      submit={t.actions.move}
      mutation={mutation}
      isReady={receiver.trim() !== '' && hasReason}
      onSubmit={() => mutation.mutate()}
      onCancel={onCancel}
    >
      <p>{t.effects.move}</p>
      <TextField
        label={t.receiver}
        autoFocus
        value={receiver}
        error={mutation.data === false ? t.noAccount : null}
        onChange={(event) => setReceiver(event.target.value)}
      />
      <ReasonField {...field} />
    </Form>
  )
}

function DeleteForm({ server, onDone, onCancel }: FormProps) {
  const t = useOperatedServerText()
  const [force, setForce] = useState(false)
  const { mutation, hasReason, field } = useReasoned(
    (reason) => berth.operator.deleteServer(server.server_id, { reason, force }),
    onDone,
  )
  return (
    <ConfirmDelete
      title={t.titles.delete(server.name)}
      name={server.name}
      isReady={hasReason}
      mutation={mutation}
      onClose={onCancel}
    >
      <div className="stack">
        <p>{t.effects.delete}</p>
        <ReasonField {...field} />
        {server.delete_protection ? (
          <Check checked={force} onChange={(event) => setForce(event.target.checked)}>
            {t.protected}
          </Check>
        ) : null}
      </div>
    </ConfirmDelete>
  )
}
