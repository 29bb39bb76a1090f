import Type, { type Static } from 'typebox'
import { CreatedAt, nullable, timestamp, UpdatedAt, uuid, VISIBLE } from '../http/contract/fields.ts'
import { defineProblems } from '../http/contract/problem.ts'

/** Limits the announcements of the installation that have not ended. */
export const MOST_OPEN = 20

export const announcementProblems = defineProblems({
  announcement_not_found: { status: 404, title: 'No such announcement' },
  announcement_ended: { status: 409, title: 'The announcement has ended' },
  too_many_announcements: { status: 409, title: 'Too many announcements have not ended' },
})

const words = (language: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 1000,
    pattern: VISIBLE,
    description: `The text in ${language}: up to 1,000 characters in one paragraph`,
    examples: [example],
    errorMessage: 'must have visible characters, and no control, zero-width or direction characters.',
  })

const Text = Type.Object(
  {
    en: words('English', 'The switches of this zone are replaced. Servers lose the network for a minute.'),
    ru: words('Russian', 'В зоне меняют коммутаторы. Сеть серверов пропадёт на минуту.'),
  },
  { description: 'The text, in both languages' },
)

const ZoneSlug = Type.String({ minLength: 1, maxLength: 64, examples: ['local-1'] })

const fields = {
  kind: Type.Enum(['maintenance', 'incident', 'notice'], {
    description: 'Planned work, trouble that is there already, or other news',
    examples: ['maintenance'],
  }),
  text: Text,
  zones: Type.Array(ZoneSlug, {
    maxItems: 50,
    uniqueItems: true,
    description: 'Slugs of the zones that it is about; an empty list means all',
    examples: [['local-1']],
  }),
  starts_at: timestamp('When it begins, as planned', '2026-12-01T01:00:00.000Z'),
  ends_at: nullable(timestamp('When it ends, as planned', '2026-12-01T03:00:00.000Z'), {
    description: 'When it ends, as planned; null if it lasts until the operator ends it',
  }),
}

export const Announcement = Type.Object(
  {
    announcement_id: uuid('01a1fb44-7d20-7b3c-9d4e-2f3a4b5c6d7e', 'Id of the announcement'),
    ...fields,
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Announcement', description: 'Maintenance, an incident or news of the operator' },
)
export type Announcement = Static<typeof Announcement>

export const OperatedAnnouncement = Type.Object(
  {
    ...Announcement.properties,
    ended_at: nullable(timestamp('When it ended'), {
      description: 'When it ended: by its plan, or before that by the operator; null if it has not',
      examples: [null],
    }),
    mailed_at: nullable(timestamp('When the last mail about it was queued'), {
      description: 'When the last mail about it was queued; null until then',
    }),
  },
  { title: 'OperatedAnnouncement', description: 'An announcement, as the operator sees it' },
)
export type OperatedAnnouncement = Static<typeof OperatedAnnouncement>

export const AnnouncementCreate = Type.Object(
  {
    kind: fields.kind,
    text: fields.text,
    zones: Type.Optional(fields.zones),
    starts_at: Type.Optional(
      timestamp('When it begins, as planned (default: at once)', '2026-12-01T01:00:00.000Z'),
    ),
    ends_at: Type.Optional(fields.ends_at),
  },
  { title: 'AnnouncementCreate', description: 'An announcement to publish' },
)
export type AnnouncementCreate = Static<typeof AnnouncementCreate>

export const AnnouncementUpdate = Type.Object(
  {
    kind: Type.Optional(fields.kind),
    text: Type.Optional(fields.text),
    zones: Type.Optional(fields.zones),
    starts_at: Type.Optional(fields.starts_at),
    ends_at: Type.Optional(fields.ends_at),
  },
  {
    title: 'AnnouncementUpdate',
    description: 'Fields to change; the others stay as they are',
    minProperties: 1,
  },
)
export type AnnouncementUpdate = Static<typeof AnnouncementUpdate>
