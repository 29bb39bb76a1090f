import Type, { type Static } from 'typebox'
import { CreatedAt, nullable, timestamp, UpdatedAt, uuid, VISIBLE_LINES } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'

/** Limits on how many complaints of an account are open at once, and how many closed ones are kept. */
export const MOST_OPEN = 20
export const MOST_CLOSED = 50
export const KEPT_CLOSED_DAYS = 365
/** The most messages that each side can write in one complaint. */
export const MOST_MESSAGES = 10
const LONGEST_HOURS = 720

export const complaintProblems = defineProblems({
  complaint_not_found: { status: 404, title: 'No such complaint' },
  complaint_closed: { status: 409, title: 'The complaint is closed' },
  too_many_complaints: { status: 409, title: 'Too many complaints of the account are open' },
  too_many_messages: { status: 409, title: 'The complaint has too many messages' },
})

const ACCOUNT = '01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11'
const SERVER = '01a1fb44-5a10-7c1d-8e4b-0d0e1a2b3c4d'
const DEADLINE = '2026-11-21T12:00:00.000Z'

export const complaintKinds = ['spam', 'scan', 'attack', 'phishing', 'malware', 'copyright', 'other'] as const
export type ComplaintKind = (typeof complaintKinds)[number]

export const complaintOutcomes = ['solved', 'unfounded', 'measures_taken'] as const
export type ComplaintOutcome = (typeof complaintOutcomes)[number]

const text = (maxLength: number, description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: VISIBLE_LINES,
    description: `${description}: up to ${maxLength.toLocaleString('en')} characters, also in several lines`,
    examples: [example],
    errorMessage:
      'must have visible characters, and no control (but for line breaks and tabs), zero-width or direction characters.',
  })

const Kind = Type.Enum([...complaintKinds], {
  description:
    'Subject of the complaint: `scan` and `attack` are about the networks of others. More may be added',
  examples: ['spam'],
})
const Text = text(
  4_000,
  'The complaint, as its customer reads it',
  'A mailbox of ours got spam from 203.0.113.7.',
)
const MessageText = text(2_000, 'The text', 'The form on the site was open. It is closed since 14:00.')
const ServerId = uuid(SERVER, 'Id of a server of the account')

export const ComplaintMessage = Type.Object(
  {
    author: Type.Enum(['customer', 'operator'], {
      description: 'Author of the message',
      examples: ['customer'],
    }),
    text: MessageText,
    created_at: CreatedAt,
  },
  { title: 'ComplaintMessage', description: 'A message in a complaint' },
)
export type ComplaintMessage = Static<typeof ComplaintMessage>

export const Complaint = Type.Object(
  {
    complaint_id: uuid('01a1fb44-7e30-7b3c-9d4e-3f4a5b6c7d8e', 'Id of the complaint'),
    kind: Kind,
    text: Text,
    server_id: nullable(uuid(SERVER), {
      description: 'The server that it is about; null if it is about the whole account',
    }),
    server_name: nullable(Type.String({ examples: ['web-1'] }), {
      description: 'Name of that server when the complaint was opened; null if there is none',
    }),
    status: Type.Enum(['awaiting_customer', 'awaiting_operator', 'closed'], {
      description:
        'The side that is awaited, the customer with an answer or the operator with a reply; or the complaint is closed',
      examples: ['awaiting_customer'],
    }),
    deadline_at: timestamp('Until when the customer should answer', DEADLINE),
    is_overdue: Type.Boolean({
      description: 'True if the deadline has passed without an answer. Nothing follows from it by itself',
      examples: [false],
    }),
    reminded_at: nullable(timestamp('When the last reminder was mailed'), {
      description: 'When the last reminder was mailed; null if none was',
      examples: [null],
    }),
    outcome: nullable(
      Type.Enum([...complaintOutcomes], {
        description: 'How it ended: `measures_taken` means that the operator stopped a server or the account',
      }),
      {
        description: 'How it ended: solved, unfounded, or by measures of the operator; null while it is open',
        examples: [null],
      },
    ),
    closed_at: nullable(timestamp('When it was closed'), {
      description: 'When it was closed; null while it is open. It is kept for a year after that',
      examples: [null],
    }),
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Complaint', description: 'A complaint about a server or an account, to answer in time' },
)
export type Complaint = Static<typeof Complaint>

const messages = Type.Array(ComplaintMessage, {
  description: `Answers of the customer and replies of the operator, oldest first: at most ${MOST_MESSAGES} of each, and one at the end`,
})

export const ComplaintWithMessages = Type.Object(
  { ...Complaint.properties, messages },
  { title: 'ComplaintWithMessages', description: 'A complaint with all that was written about it' },
)
export type ComplaintWithMessages = Static<typeof ComplaintWithMessages>

export const OperatedComplaint = Type.Object(
  {
    ...Complaint.properties,
    account_id: uuid(ACCOUNT, 'Id of the account'),
    email: Type.String({ description: 'Contact address of the account', examples: ['ann@example.com'] }),
    is_frozen: Type.Boolean({ description: 'True if the account is frozen already', examples: [false] }),
    remedy: Type.String({
      description: 'The action to take, with the exact command',
      examples: ['Wait for the answer until the deadline; the people of the account are reminded by mail.'],
    }),
  },
  { title: 'OperatedComplaint', description: 'A complaint, as the operator sees it' },
)
export type OperatedComplaint = Static<typeof OperatedComplaint>

export const OperatedComplaintWithMessages = Type.Object(
  { ...OperatedComplaint.properties, messages },
  {
    title: 'OperatedComplaintWithMessages',
    description: 'A complaint with all that was written about it, as the operator sees it',
  },
)
export type OperatedComplaintWithMessages = Static<typeof OperatedComplaintWithMessages>

const hours = (description: string) =>
  Type.Integer({ minimum: 1, maximum: LONGEST_HOURS, description, examples: [24] })

export const ComplaintCreate = Type.Object(
  {
    kind: Kind,
    text: Text,
    server_id: Type.Optional(ServerId),
    deadline_hours: Type.Optional(
      hours(`Hours within which the customer should answer, 1 to ${LONGEST_HOURS} (default: 24)`),
    ),
  },
  { title: 'ComplaintCreate', description: 'A complaint to open' },
)
export type ComplaintCreate = Static<typeof ComplaintCreate>

export const ComplaintAnswer = Type.Object(
  { text: MessageText },
  { title: 'ComplaintAnswer', description: 'An answer to a complaint' },
)
export type ComplaintAnswer = Static<typeof ComplaintAnswer>

export const ComplaintReply = Type.Object(
  {
    text: MessageText,
    deadline_hours: Type.Optional(
      hours(
        `Hours from now within which the customer should answer, 1 to ${LONGEST_HOURS} (default: the deadline stays, or is in 24 hours if it has passed)`,
      ),
    ),
  },
  { title: 'ComplaintReply', description: "The operator's reply, which asks for another answer" },
)
export type ComplaintReply = Static<typeof ComplaintReply>

export const ComplaintClose = Type.Object(
  {
    outcome: Type.Enum([...complaintOutcomes], {
      description: 'How it ended: solved by the customer, unfounded, or by measures of the operator',
      examples: ['solved'],
    }),
    text: Type.Optional(MessageText),
  },
  { title: 'ComplaintClose', description: 'The end of a complaint' },
)
export type ComplaintClose = Static<typeof ComplaintClose>

export const ComplaintQuery = Type.Object({
  ...pagingQuery,
  status: Type.Optional(
    Type.Enum(['open', 'closed'], {
      description: 'Open ones, the earliest deadline first, or closed ones, newest first (default: open)',
      examples: ['open'],
    }),
  ),
})

export const OperatedComplaintQuery = Type.Object({
  ...ComplaintQuery.properties,
  account_id: Type.Optional(uuid(ACCOUNT, 'Only complaints about this account')),
})
