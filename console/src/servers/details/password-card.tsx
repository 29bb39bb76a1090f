import type { ServerDetails } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { berth } from '../../client.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { Failed } from '../../ui/states.tsx'
import { refreshServers } from '../actions.ts'
import { useDetailsText } from './text.ts'

/** A new password for a running server, if its zone can set one. */
export function PasswordCard({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const reset = useMutation({
    mutationFn: () => berth.servers.resetPassword(server.server_id),
    onSettled: refreshServers,
  })
  if (!server.zone?.features.includes('reset_password')) return null
  const isAllowed = server.allowed_actions.includes('reset_password')
  return (
    <Card title={t.resetPassword}>
      <div className="body stack">
        <p className="muted">{server.ssh.keys.length > 0 ? t.resetAboutKeys : t.resetAbout}</p>
        {reset.error ? <Failed error={reset.error} /> : null}
        <div>
          <Button icon="key" isBusy={reset.isPending} disabled={!isAllowed} onClick={() => reset.mutate()}>
            {t.resetPassword}
          </Button>
        </div>
        {isAllowed ? null : <p className="muted">{t.resetNeedsRunning}</p>}
      </div>
    </Card>
  )
}
