import type { ServerDetails } from '@berth/sdk'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Check } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Failed } from '../../ui/states.tsx'
import { type Power, usePower } from '../actions.ts'
import { useServersText } from '../text.ts'
import { DeleteServer } from './delete-server.tsx'
import { useDetailsText } from './text.ts'

type Asked = 'stop' | 'reboot' | 'delete' | null

/** The actions that the API allows now. Stopping and deleting ask first. */
export function ServerActions({ server }: { server: ServerDetails }) {
  const t = useServersText()
  const words = useDetailsText()
  const navigate = useNavigate()
  const [asked, setAsked] = useState<Asked>(null)
  const start = usePower(server.server_id)
  const allows = (action: ServerDetails['allowed_actions'][number]) => server.allowed_actions.includes(action)
  const to = { params: { serverId: server.server_id } }
  const close = () => setAsked(null)
  return (
    <>
      {allows('start') ? (
        <Button
          kind="primary"
          icon="play"
          isBusy={start.isPending}
          onClick={() => start.mutate({ action: 'start' })}
        >
          {t.actions.start}
        </Button>
      ) : null}
      {allows('stop') ? (
        <Button icon="stop" onClick={() => setAsked('stop')}>
          {t.actions.stop}
        </Button>
      ) : null}
      {allows('reboot') ? (
        <Button icon="restart" onClick={() => setAsked('reboot')}>
          {t.actions.reboot}
        </Button>
      ) : null}
      <Menu
        label={server.name}
        items={[
          {
            title: words.tabs.terminal,
            icon: 'terminal',
            isDisabled: !allows('console'),
            onSelect: () => void navigate({ to: '/servers/$serverId/terminal', ...to }),
          },
          {
            title: words.resize,
            icon: 'expand',
            onSelect: () => void navigate({ to: '/servers/$serverId/settings', ...to }),
          },
          {
            title: t.actions.delete,
            icon: 'trash',
            isDangerous: true,
            isDisabled: !allows('delete'),
            onSelect: () => setAsked('delete'),
          },
        ]}
      />
      {start.error ? <Failed error={start.error} /> : null}
      {asked === 'stop' || asked === 'reboot' ? (
        <ConfirmPower server={server} action={asked} onClose={close} />
      ) : null}
      {asked === 'delete' ? <DeleteServer server={server} onClose={close} /> : null}
    </>
  )
}

interface ConfirmPowerProps {
  server: ServerDetails
  action: Exclude<Power, 'start'>
  onClose: () => void
}

function ConfirmPower({ server, action, onClose }: ConfirmPowerProps) {
  const t = useServersText()
  const [force, setForce] = useState(false)
  const power = usePower(server.server_id)
  return (
    <Dialog
      title={action === 'stop' ? t.stopTitle(server.name) : `${t.actions.reboot}: ${server.name}`}
      onClose={onClose}
    >
      <Form
        submit={t.actions[action]}
        mutation={power}
        onCancel={onClose}
        onSubmit={() => power.mutate({ action, force }, { onSuccess: onClose })}
      >
        {action === 'stop' ? <p>{t.stopAbout}</p> : null}
        <Check checked={force} onChange={(event) => setForce(event.target.checked)}>
          {t.force}
        </Check>
      </Form>
    </Dialog>
  )
}
