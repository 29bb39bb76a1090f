import type { Webhook } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import { Dialog } from '../ui/dialog.tsx'
import type { Example } from '../ui/example.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Failed } from '../ui/states.tsx'
import { Status, type Tone } from '../ui/status.tsx'
import { Deliveries } from './deliveries.tsx'
import { webhooksQuery } from './queries.ts'
import { useAccountText } from './text.ts'
import { WebhookForm } from './webhook-form.tsx'

const examples: readonly Example[] = [
  { route: 'GET /webhooks', berth: 'berth webhook list', sdk: 'webhooks.list' },
]

const tones: Record<'pending' | 'verified' | 'failed' | 'off', Tone> = {
  pending: 'busy',
  verified: 'good',
  failed: 'bad',
  off: 'off',
}
const stateOf = ({ is_enabled, verification }: Webhook) =>
  is_enabled || verification.status !== 'verified' ? verification.status : 'off'
const refresh = () => queryClient.invalidateQueries({ queryKey: ['webhook'] })

export function WebhooksPage() {
  const t = useAccountText()
  const query = useQuery(webhooksQuery)
  const [shown, setShown] = useState<Webhook | null>(null)
  const [deleted, setDeleted] = useState<Webhook | null>(null)
  const act = useMutation({ mutationFn: (work: () => Promise<unknown>) => work(), onSettled: refresh })
  const actionsOf = (webhook: Webhook) => [
    { title: t.deliveries, onSelect: () => setShown(webhook) },
    { title: t.test, onSelect: () => act.mutate(() => berth.webhooks.test(webhook.webhook_id)) },
    {
      title: webhook.is_enabled ? t.disable : t.enable,
      onSelect: () =>
        act.mutate(() => berth.webhooks.update(webhook.webhook_id, { is_enabled: !webhook.is_enabled })),
    },
    { title: t.delete, icon: 'trash' as const, isDangerous: true, onSelect: () => setDeleted(webhook) },
  ]
  return (
    <>
      <ResourcePage
        title={t.webhooks}
        about={t.webhooksAbout}
        query={query}
        idOf={({ webhook_id }) => webhook_id}
        nameOf={({ name }) => name}
        empty={{ title: t.noWebhooks, about: t.noWebhooksAbout }}
        examples={examples}
        scope="account:write"
        columns={[
          { title: t.name, cell: ({ name }) => <span className="title">{name}</span> },
          { title: t.url, isWrapped: true, cell: ({ url }) => <span className="mono">{url}</span> },
          { title: t.events, isWrapped: true, cell: ({ event_types }) => event_types.join(', ') },
          { title: t.state, isWrapped: true, cell: (webhook) => <State webhook={webhook} /> },
        ]}
        actionsOf={actionsOf}
        create={{ title: t.newWebhook, form: (close) => <WebhookForm onDone={close} /> }}
      />
      {act.error ? <Failed error={act.error} /> : null}
      {shown ? (
        <Dialog title={`${t.deliveries}: ${shown.name}`} isSide onClose={() => setShown(null)}>
          <Deliveries webhook={shown} />
        </Dialog>
      ) : null}
      {deleted ? <DeleteWebhook webhook={deleted} onClose={() => setDeleted(null)} /> : null}
    </>
  )
}

function State({ webhook }: { webhook: Webhook }) {
  const t = useAccountText()
  const state = stateOf(webhook)
  return (
    <>
      <Status tone={tones[state]}>{t.states[state]}</Status>
      {state === 'failed' ? <div className="muted small">{webhook.verification.error}</div> : null}
    </>
  )
}

function DeleteWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const t = useAccountText()
  const remove = useMutation({
    mutationFn: () => berth.webhooks.delete(webhook.webhook_id),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <ConfirmDelete
      title={t.deleteWebhook(webhook.name)}
      name={webhook.name}
      mutation={remove}
      onClose={onClose}
    >
      <p>{t.deleteWebhookAbout}</p>
    </ConfirmDelete>
  )
}
