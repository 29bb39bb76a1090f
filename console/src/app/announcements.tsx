import { queryOptions, useQuery } from '@tanstack/react-query'
import { berth } from '../client.ts'
import { useFormats } from '../format.ts'
import { useMay } from '../session.ts'
import { useAppText } from './text.ts'

// The events of an account do not include those of the installation, so this polls.
const announcementsQuery = queryOptions({
  queryKey: ['announcement'],
  queryFn: ({ signal }) => berth.announcements.list({}, { signal }),
  refetchInterval: 60_000,
})

/** The operator's maintenance, incidents and news that concern the account. */
export function Announcements() {
  const t = useAppText()
  const { locale, exact } = useFormats()
  const isAllowed = useMay('account:read')
  const { data } = useQuery({ ...announcementsQuery, enabled: isAllowed })
  return data?.items.map(({ announcement_id, kind, text, starts_at, ends_at }) => (
    <div
      key={announcement_id}
      className="connection announcement"
      {...(kind === 'incident' ? {} : { 'data-tone': 'plain' })}
    >
      <strong>{t.announced[kind]}</strong>
      <span>{text[locale]}</span>
      <span>{t.period(exact(starts_at), ends_at && exact(ends_at))}</span>
    </div>
  ))
}
