import type { Person } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { berth, queryClient } from '../client.ts'
import { personQuery } from '../session.ts'
import { Check } from '../ui/field.tsx'
import { Card } from '../ui/page.tsx'
import { Failed } from '../ui/states.tsx'
import { useSecurityText } from './security-text.ts'

const kinds = ['servers', 'backups', 'limits', 'announcements'] as const

/** Mails that the person can do without. */
export function MailsCard({ person }: { person: Person }) {
  const t = useSecurityText()
  const muted = person.muted_mails
  const change = useMutation({
    mutationFn: ({ kind, isWanted }: { kind: (typeof kinds)[number]; isWanted: boolean }) =>
      berth.person.update({
        muted_mails: isWanted ? muted.filter((other) => other !== kind) : [...muted, kind],
      }),
    onSuccess: (changed) => queryClient.setQueryData(personQuery.queryKey, changed),
  })
  return (
    <Card title={t.mails}>
      <div className="body stack">
        {kinds.map((kind) => (
          <Check
            key={kind}
            checked={!muted.includes(kind)}
            disabled={change.isPending}
            onChange={(event) => change.mutate({ kind, isWanted: event.target.checked })}
          >
            {t.mailKinds[kind]}
          </Check>
        ))}
        <p className="muted">{t.mailsAbout}</p>
        {change.error ? <Failed error={change.error} /> : null}
      </div>
    </Card>
  )
}
