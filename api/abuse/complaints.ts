import { v7 as uuid } from 'uuid'
import { lockAccount } from '../accounts/accounts.ts'
import { accountsByIds } from '../accounts/queries.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { countOf, type Page, pageOf } from '../database/page.ts'
import { record } from '../events/outbox.ts'
import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { asOperator } from '../operator/accounts.ts'
import { serverNames } from '../servers/queries.ts'
import {
  type Complaint,
  type ComplaintClose,
  type ComplaintCreate,
  type ComplaintMessage,
  type ComplaintReply,
  type ComplaintWithMessages,
  complaintProblems,
  MOST_MESSAGES,
  MOST_OPEN,
  type OperatedComplaint,
  type OperatedComplaintWithMessages,
} from './complaint-schema.ts'
import { remedyOf } from './remedies.ts'
import type { ComplaintTable } from './tables.ts'

export interface Complaining {
  db: Database
  clock: Clock
}

const HOUR_MS = 3_600_000
const USUAL_HOURS = 24
/** A reminder is mailed when a quarter of the time is left, and a day before the deadline at the earliest. */
const REMINDED_BEFORE_MS = 24 * HOUR_MS
const LAST_PART = 4

interface ComplaintFilter {
  status?: 'open' | 'closed' | undefined
  account_id?: string | undefined
}

/** The open complaints with the earliest deadline first, or the closed ones, newest first. */
export function listComplaints(db: Queries, { status = 'open', account_id }: ComplaintFilter, page: Page) {
  const all = db.selectFrom('complaints').selectAll()
  const wanted = account_id === undefined ? all : all.where('account_id', '=', account_id)
  return pageOf(
    status === 'open'
      ? wanted.where('closed_at', 'is', null).orderBy('deadline_at').orderBy('complaint_id')
      : wanted
          .where('closed_at', 'is not', null)
          .orderBy('closed_at', 'desc')
          .orderBy('complaint_id', 'desc'),
    page,
  )
}

/** @param accountId the account that must have it (default: any) @throws ApiError complaint_not_found */
export async function findComplaint(
  db: Queries,
  complaintId: string,
  accountId?: string,
): Promise<ComplaintTable> {
  const one = db.selectFrom('complaints').selectAll().where('complaint_id', '=', complaintId)
  const owned = accountId === undefined ? one : one.where('account_id', '=', accountId)
  return found(await owned.executeTakeFirst(), complaintProblems.complaint_not_found)
}

/**
 * Opens a complaint about an account or one of its servers; its people are mailed soon.
 * @throws ApiError validation_failed (not_found), too_many_complaints
 */
export function openComplaint(
  { db, clock }: Complaining,
  accountId: string,
  { kind, text, server_id: about, deadline_hours = USUAL_HOURS }: ComplaintCreate,
  remember?: Remember,
): Promise<ComplaintTable> {
  const now = clock.now()
  const server_id = about ?? null
  return asOperator(() =>
    db.transaction().execute(async (tx) => {
      await lockAccount(tx, accountId)
      const names = await serverNames(tx, accountId, server_id === null ? [] : [server_id])
      const server_name = server_id === null ? null : names.get(server_id)
      if (server_name === undefined)
        throw invalid([bodyIssue('server_id', 'not_found', 'The account has no server with this id.')])
      const open = tx.selectFrom('complaints').where('account_id', '=', accountId)
      if ((await countOf(open.where('closed_at', 'is', null).selectAll())) >= MOST_OPEN)
        throw new ApiError(
          complaintProblems.too_many_complaints,
          `${MOST_OPEN} complaints of this account are open. Close one of them first.`,
        )
      const row: ComplaintTable = {
        ...{
          complaint_id: uuid(),
          account_id: accountId,
          server_id,
          server_name,
          kind,
          text,
          messages: '[]',
        },
        ...{
          deadline_at: now + deadline_hours * HOUR_MS,
          answered_at: null,
          letter: 'opened',
          letter_at: now,
        },
        ...{ reminded_at: null, outcome: null, closed_at: null, created_at: now, updated_at: now },
      }
      await tx.insertInto('complaints').values(row).execute()
      const event = { accountId, type: 'complaint.created', data: complaintView(now)(row), at: now } as const
      await record(tx, [event])
      await remember?.(tx, row.complaint_id)
      return row
    }),
  )
}

/** Adds the customer's answer; the next turn is the operator's. @throws ApiError complaint_closed, too_many_messages */
export function answerComplaint(
  place: Complaining,
  complaint: ComplaintTable,
  text: string,
  remember: Remember,
): Promise<ComplaintTable> {
  return change(place, complaint, remember, (row, now) => ({
    messages: withMessage(row, { author: 'customer', text, created_at: isoTime(now) }),
    answered_at: now,
    ...(row.letter === 'reminder' ? { letter: null, letter_at: null } : {}),
  }))
}

/** Adds the operator's reply; the next turn is the customer's. @throws ApiError complaint_closed, too_many_messages */
export function replyToComplaint(
  place: Complaining,
  complaint: ComplaintTable,
  { text, deadline_hours }: ComplaintReply,
  remember?: Remember,
): Promise<ComplaintTable> {
  return asOperator(() =>
    change(place, complaint, remember, (row, now) => {
      const hours = deadline_hours ?? (row.deadline_at <= now ? USUAL_HOURS : null)
      return {
        messages: withMessage(row, { author: 'operator', text, created_at: isoTime(now) }),
        ...{ answered_at: null, letter: 'replied', letter_at: now },
        ...(hours === null ? {} : { deadline_at: now + hours * HOUR_MS }),
      }
    }),
  )
}

/** Closes a complaint, perhaps with a last message. @throws ApiError complaint_closed, too_many_messages */
export function closeComplaint(
  place: Complaining,
  complaint: ComplaintTable,
  { outcome, text }: ComplaintClose,
  remember?: Remember,
): Promise<ComplaintTable> {
  return asOperator(() =>
    change(place, complaint, remember, (row, now) => ({
      ...(text === undefined
        ? {}
        : // A closing message may exceed the limit by one, so that the operator can always give a reason.
          { messages: withMessage(row, { author: 'operator', text, created_at: isoTime(now) }, 1) }),
      ...{ outcome, closed_at: now, letter: 'closed', letter_at: now },
    })),
  )
}

/** Changes an open complaint in a transaction, with its event. @throws ApiError complaint_closed */
function change(
  { db, clock }: Complaining,
  { complaint_id, account_id }: ComplaintTable,
  remember: Remember | undefined,
  changed: (row: ComplaintTable, now: number) => Partial<ComplaintTable>,
): Promise<ComplaintTable> {
  return db.transaction().execute(async (tx) => {
    await lockAccount(tx, account_id)
    const now = clock.now()
    const row = await findComplaint(tx, complaint_id, account_id)
    if (row.closed_at !== null)
      throw new ApiError(complaintProblems.complaint_closed, 'Nothing changed: the complaint is closed.')
    const after = { ...row, ...changed(row, now), updated_at: now }
    await save(tx, after)
    await remember?.(tx, complaint_id)
    return after
  })
}

/** Writes a changed complaint with its event, in the transaction that has locked the account. */
async function save(tx: Queries, row: ComplaintTable): Promise<void> {
  const { complaint_id, account_id: accountId, updated_at: at } = row
  await tx.updateTable('complaints').set(row).where('complaint_id', '=', complaint_id).execute()
  await record(tx, [{ accountId, type: 'complaint.updated', data: complaintView(at)(row), at }])
}

/** Records that the due mail is queued, in the transaction that queues it and has locked the account. */
export async function noteMailed(tx: Queries, row: ComplaintTable, now: number): Promise<void> {
  const next = nextLetter(row, now)
  if (row.letter === 'reminder') return save(tx, { ...row, ...next, reminded_at: now, updated_at: now })
  await tx.updateTable('complaints').set(next).where('complaint_id', '=', row.complaint_id).execute()
}

/** The mail after the one that is due: a reminder, while an answer is awaited. */
function nextLetter(
  { letter, answered_at, deadline_at }: ComplaintTable,
  now: number,
): Pick<ComplaintTable, 'letter' | 'letter_at'> {
  const isAwaited = (letter === 'opened' || letter === 'replied') && answered_at === null
  if (!isAwaited || deadline_at <= now) return { letter: null, letter_at: null }
  const left = Math.floor((deadline_at - now) / LAST_PART)
  return { letter: 'reminder', letter_at: deadline_at - Math.min(left, REMINDED_BEFORE_MS) }
}

/** @throws ApiError too_many_messages */
function withMessage(row: ComplaintTable, message: ComplaintMessage, more = 0): string {
  const all = messagesOf(row)
  if (all.filter(({ author }) => author === message.author).length >= MOST_MESSAGES + more)
    throw new ApiError(
      complaintProblems.too_many_messages,
      `Nothing changed: the complaint has ${MOST_MESSAGES} messages of the ${message.author} already.`,
    )
  return JSON.stringify([...all, message])
}

function messagesOf({ messages }: ComplaintTable): ComplaintMessage[] {
  const all: ComplaintMessage[] = JSON.parse(messages)
  return all
}

export const complaintView =
  (now: number) =>
  (row: ComplaintTable): Complaint => ({
    complaint_id: row.complaint_id,
    kind: row.kind,
    text: row.text,
    server_id: row.server_id,
    server_name: row.server_name,
    status:
      row.closed_at !== null
        ? 'closed'
        : row.answered_at !== null
          ? 'awaiting_operator'
          : 'awaiting_customer',
    deadline_at: isoTime(row.deadline_at),
    is_overdue: row.closed_at === null && row.answered_at === null && row.deadline_at <= now,
    reminded_at: isoTimeOrNull(row.reminded_at),
    outcome: row.outcome,
    closed_at: isoTimeOrNull(row.closed_at),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  })

export const wholeView =
  (now: number) =>
  (row: ComplaintTable): ComplaintWithMessages => ({ ...complaintView(now)(row), messages: messagesOf(row) })

/** Shows complaints to the operator, each with the action that it needs. */
export async function operatedComplaints(
  { db, clock }: Complaining,
  rows: readonly ComplaintTable[],
): Promise<OperatedComplaint[]> {
  const known = await accountsByIds(db, [...new Set(rows.map(({ account_id }) => account_id))])
  const accounts = new Map(known.map((account) => [account.account_id, account]))
  const view = complaintView(clock.now())
  return rows.map((row) => {
    const shown = view(row)
    const { account_id } = row
    const { email = '', frozen_at = null } = accounts.get(account_id) ?? {}
    return { ...shown, account_id, email, is_frozen: frozen_at !== null, remedy: remedyOf(shown, account_id) }
  })
}

export async function operatedComplaint(
  place: Complaining,
  row: ComplaintTable,
): Promise<OperatedComplaintWithMessages> {
  const [shown] = await operatedComplaints(place, [row])
  return { ...found(shown, complaintProblems.complaint_not_found), messages: messagesOf(row) }
}

/** Deletes at most `limit` complaints that were closed before a moment. @returns the number deleted */
export function forgetComplaints(db: Database, before: number, limit: number): Promise<number> {
  return deleteFound(db, 'complaints', 'complaint_id', ids(db).where('closed_at', '<', before).limit(limit))
}

/** Deletes some of an account's closed complaints beyond the newest. @returns the number deleted */
export function forgetExcessComplaints(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const closed = ids(db).where('account_id', '=', accountId).where('closed_at', 'is not', null)
  const newest = closed.orderBy('closed_at', 'desc')
  return deleteFound(db, 'complaints', 'complaint_id', newest.limit(limit).offset(most))
}

function ids(db: Database) {
  return db.selectFrom('complaints').select('complaint_id')
}
