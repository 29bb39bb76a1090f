import type { Announcement } from '@berth/sdk'
import { addLimitOption, type LimitOptions, upTo } from './flags.ts'
import type { Columns } from './output.ts'
import { listCommand } from './session.ts'

const columns: Columns<Announcement> = {
  id: ({ announcement_id }) => announcement_id,
  kind: ({ kind }) => kind,
  zones: ({ zones }) => zones.join(',') || 'all',
  starts: ({ starts_at }) => starts_at,
  ends: ({ ends_at }) => ends_at,
  text: ({ text }) => text.en,
  text_ru: ({ text }) => text.ru,
}

export function announcementsCommand() {
  return addLimitOption(
    listCommand({
      name: 'announcements',
      description: "list the operator's maintenance, incidents and news that concern the account",
      columns,
      shown: ['kind', 'zones', 'starts', 'ends', 'text'],
      items: async (session, options: LimitOptions) =>
        upTo(session, options, session.berth.announcements.listAll()),
    }),
  )
}
