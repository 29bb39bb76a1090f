import type { Complaint, ComplaintWithMessages } from '@berth/sdk'
import { UNKNOWN, useFormats } from '../format.ts'
import { Facts } from '../ui/page.tsx'
import { Status } from '../ui/status.tsx'
import { useComplaintText } from './text.ts'

/** Shows whose turn it is, or how it ended. */
export function ComplaintStatus({ complaint }: { complaint: Complaint }) {
  const t = useComplaintText()
  const { status, is_overdue, outcome } = complaint
  if (outcome !== null) return <Status tone="off">{t.outcomes[outcome]}</Status>
  if (is_overdue) return <Status tone="bad">{t.overdue}</Status>
  return <Status tone={status === 'awaiting_customer' ? 'warn' : 'busy'}>{t.statuses[status]}</Status>
}

/** A complaint with all that was written about it. */
export function Thread({ complaint }: { complaint: ComplaintWithMessages }) {
  const t = useComplaintText()
  const { exact } = useFormats()
  const { text, created_at, server_name, deadline_at, messages } = complaint
  const all = [{ author: 'operator' as const, text, created_at }, ...messages]
  return (
    <>
      <Facts
        facts={[
          [t.subject, server_name ?? t.whole],
          [t.deadline, complaint.closed_at === null ? exact(deadline_at) : UNKNOWN],
          [t.status, <ComplaintStatus key="status" complaint={complaint} />],
        ]}
      />
      {all.map((message, at) => (
        // Messages are only added at the end.
        // biome-ignore lint/suspicious/noArrayIndexKey: they have no other key
        <article key={at}>
          <p className="muted small">
            {t.authors[message.author]}, {exact(message.created_at)}
          </p>
          <p style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{message.text}</p>
        </article>
      ))}
    </>
  )
}
