import type { ServerDetails } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../../client.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form.tsx'
import { Card } from '../../ui/page.tsx'
import { refreshServers } from '../actions.ts'
import { useDetailsText } from './text.ts'

/** The rescue system and the way back, if the zone has one. */
export function RescueCard({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const [isAsking, setIsAsking] = useState(false)
  const { server_id, rescue: isRescued, zone, allowed_actions } = server
  const turn = useMutation({
    mutationFn: () => (isRescued ? berth.servers.unrescue(server_id) : berth.servers.rescue(server_id)),
    onSuccess: () => setIsAsking(false),
    onSettled: refreshServers,
  })
  if (!isRescued && !zone?.features.includes('rescue')) return null
  const label = isRescued ? t.unrescue : t.rescue
  return (
    <Card title={t.rescueTitle}>
      <div className="body stack">
        <p className="muted">{isRescued ? t.unrescueAbout : t.rescueAbout}</p>
        <div>
          <Button
            icon="restart"
            disabled={!allowed_actions.includes(isRescued ? 'unrescue' : 'rescue')}
            onClick={() => setIsAsking(true)}
          >
            {label}
          </Button>
        </div>
        {isAsking ? (
          <Dialog title={`${label}: ${server.name}`} onClose={() => setIsAsking(false)}>
            <Form
              submit={label}
              mutation={turn}
              onCancel={() => setIsAsking(false)}
              onSubmit={() => turn.mutate()}
            >
              <p>{t.rescueConfirm}</p>
            </Form>
          </Dialog>
        ) : null}
      </div>
    </Card>
  )
}
