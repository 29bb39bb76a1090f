import { type Command, Option } from 'commander'
import {
  ComplaintClose,
  ComplaintCreate,
  type ComplaintKind,
  type ComplaintOutcome,
  ComplaintReply,
  complaintKinds,
  complaintOutcomes,
} from '../abuse/complaint-schema.ts'
import {
  type Complaining,
  closeComplaint,
  findComplaint,
  listComplaints,
  openComplaint,
  operatedComplaint,
  operatedComplaints,
  replyToComplaint,
} from '../abuse/complaints.ts'
import type { ComplaintTable } from '../abuse/tables.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError } from '../config.ts'
import { ApiError } from '../http/contract/problem.ts'
import { requireValid } from './checked.ts'
import { paged, printMore, wholeNumber } from './listing.ts'
import { accountByNameOrId, type ReadConfig, withDatabase } from './operator.ts'
import { printFields, printTable } from './print.ts'

interface ListGiven {
  closed?: true
  account?: string
  limit: number
  offset: number
}

/** Adds the commands for complaints that customers answer. */
export function addComplaintCommands(abuse: Command, config: ReadConfig): void {
  addListCommand(abuse, config)
  abuse
    .command('show')
    .description('show a complaint with all answers and replies')
    .argument('<complaint>', 'id')
    .action((id: string) => onOne(config, 'abuse show', id, async (_place, row) => row))
  addOpenCommand(abuse, config)
  abuse
    .command('reply')
    .description('ask the customer of a complaint for another answer; owners and admins get a mail')
    .argument('<complaint>', 'id')
    .requiredOption('--text <text>', 'text that the customer reads')
    .addOption(wholeNumber('--hours <hours>', 'hours until the new deadline (default: it stays)', 1))
    .action((id: string, { text, hours }: { text: string; hours?: number }) => {
      const body = requireValid(ComplaintReply, {
        text,
        ...(hours !== undefined && { deadline_hours: hours }),
      })
      return onOne(config, 'abuse reply', id, (place, row) => replyToComplaint(place, row, body))
    })
  abuse
    .command('close')
    .description('close a complaint; owners and admins get a mail')
    .argument('<complaint>', 'id')
    .addOption(
      new Option('--outcome <outcome>', 'how it ended').choices(complaintOutcomes).makeOptionMandatory(),
    )
    .option('--text <text>', 'last words that the customer reads')
    .action((id: string, { outcome, text }: { outcome: ComplaintOutcome; text?: string }) => {
      const body = requireValid(ComplaintClose, { outcome, ...(text !== undefined && { text }) })
      return onOne(config, 'abuse close', id, (place, row) => closeComplaint(place, row, body))
    })
}

function addListCommand(abuse: Command, config: ReadConfig): void {
  const list = abuse
    .command('complaints')
    .description('list open complaints, the earliest deadline first, each with what to do about it')
    .option('--closed', 'those that are closed instead, newest first')
    .option('--account <account>', 'only complaints about this account')
  paged(list, 'complaints').action(async ({ closed, account, ...page }: ListGiven) => {
    await withDatabase(config(), 'abuse complaints', async (db) => {
      const account_id = account === undefined ? undefined : (await accountByNameOrId(db, account)).account_id
      const filter = { status: closed ? ('closed' as const) : ('open' as const), account_id }
      const { items, total } = await listComplaints(db, filter, page)
      const rows = (await operatedComplaints({ db, clock }, items)).map((one) => [
        ...[one.complaint_id, one.kind, one.email, one.server_name ?? ''],
        ...[one.is_overdue ? 'overdue' : one.status, short(one.deadline_at), one.outcome ?? '', one.remedy],
      ])
      const head = ['COMPLAINT', 'KIND', 'ACCOUNT', 'SERVER', 'STATUS', 'DEADLINE', 'OUTCOME', 'REMEDY']
      printTable(head, rows)
      printMore(page, rows.length, total, 'complaints')
    })
  })
}

interface OpenGiven {
  kind: ComplaintKind
  text: string
  server?: string
  hours?: number
}

function addOpenCommand(abuse: Command, config: ReadConfig): void {
  abuse
    .command('open')
    .description('open a complaint that the customer answers; owners and admins get a mail and a reminder')
    .argument('<account>', 'e-mail address or id')
    .addOption(new Option('--kind <kind>', 'kind').choices(complaintKinds).makeOptionMandatory())
    .requiredOption('--text <text>', 'text that the customer reads')
    .option('--server <server>', 'id of the server that it is about')
    .addOption(wholeNumber('--hours <hours>', 'hours until the deadline (default: 24)', 1))
    .action(async (given: string, { kind, text, server, hours }: OpenGiven) => {
      const body = requireValid(ComplaintCreate, {
        ...{ kind, text },
        ...(server !== undefined && { server_id: server }),
        ...(hours !== undefined && { deadline_hours: hours }),
      })
      await withDatabase(config(), 'abuse open', async (db) => {
        const { account_id } = await accountByNameOrId(db, given)
        await print({ db, clock }, await openComplaint({ db, clock }, account_id, body))
      })
    })
}

async function onOne(
  config: ReadConfig,
  action: string,
  id: string,
  run: (place: Complaining, row: ComplaintTable) => Promise<ComplaintTable>,
): Promise<void> {
  await withDatabase(config(), action, async (db) => {
    const row = await findComplaint(db, id).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      throw new CommandError(`No such complaint: ${id}. List them with: berthd abuse complaints`)
    })
    await print({ db, clock }, await run({ db, clock }, row))
  })
}

const short = (time: string) => `${time.slice(0, 19).replace('T', ' ')}Z`

async function print(place: Complaining, row: ComplaintTable): Promise<void> {
  const shown = await operatedComplaint(place, row)
  printFields([
    ['complaint', shown.complaint_id],
    ['account', shown.email],
    ['server', shown.server_name ?? ''],
    ['kind', shown.kind],
    ['status', shown.is_overdue ? 'overdue' : shown.status],
    ['deadline', short(shown.deadline_at)],
    ['outcome', shown.outcome ?? ''],
    ['text', shown.text],
    ...shown.messages.map(
      ({ author, text, created_at }) => [`${short(created_at)} ${author}`, text] as const,
    ),
    ['next', shown.remedy],
  ])
}
