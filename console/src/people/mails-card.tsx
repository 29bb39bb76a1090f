import type { Person } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { berth, queryClient } from '../client.ts'
import { personQuery } from '../session.ts'
import { Check } from '../ui/field.tsx'
import { Card } from '../ui/page.tsx'
import { Failed } from '../ui/states.tsx'
import { useSecurityText } from './security-text.ts'

/** Mails that the person can do without. */
export function MailsCard({ person }: { person: Person }) {
  const t = useSecurityText()
  const change = useMutation({
    mutationFn: (isWanted: boolean) =>
      berth.person.update({ muted_mails: isWanted ? [] : ['announcements'] }),
    onSuccess: (changed) => queryClient.setQueryData(personQuery.queryKey, changed),
  })
  return (
    <Card title={t.mails}>
      <div className="body stack">
        <Check
          checked={!person.muted_mails.includes('announcements')}
          disabled={change.isPending}
          onChange={(event) => change.mutate(event.target.checked)}
        >
          {t.announcementMails}
        </Check>
        <p className="muted">{t.mailsAbout}</p>
        {change.error ? <Failed error={change.error} /> : null}
      </div>
    </Card>
  )
}
