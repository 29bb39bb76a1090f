import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ownComplaintsQuery } from '../complaints/queries.ts'
import { useComplaintText } from '../complaints/text.ts'
import { useFormats } from '../format.ts'
import { useMay } from '../session.ts'

/** A line about the complaint that must be answered first. */
export function Complaints() {
  const t = useComplaintText()
  const { exact } = useFormats()
  const isAllowed = useMay('account:read')
  const { data } = useQuery({ ...ownComplaintsQuery('open'), enabled: isAllowed })
  const first = data?.items.find(({ status }) => status === 'awaiting_customer')
  if (!first) return null
  return (
    <div className="connection announcement">
      <span>{first.is_overdue ? t.late : t.notice(exact(first.deadline_at))}</span>
      <Link to="/account/complaints">{t.open}</Link>
    </div>
  )
}
