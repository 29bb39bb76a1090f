import type { Complaint, ComplaintWithMessages } from '@berth/sdk'
import { Command } from 'commander'
import { addLimitOption, type LimitOptions, upTo } from './flags.ts'
import type { Columns } from './output.ts'
import { action, listCommand } from './session.ts'

/** Texts may have several lines, which would break a table. */
const inOneLine = (text: string) => text.replaceAll(/\s*\n\s*/g, ' ')

const columns: Columns<Complaint> = {
  id: ({ complaint_id }) => complaint_id,
  kind: ({ kind }) => kind,
  server: ({ server_name }) => server_name,
  status: ({ status, is_overdue }) => (is_overdue ? `${status} (overdue)` : status),
  deadline: ({ deadline_at }) => deadline_at,
  outcome: ({ outcome }) => outcome,
  text: ({ text }) => inOneLine(text),
  created: ({ created_at }) => created_at,
}

/** Only the view of a single complaint shows this line. */
const details: Columns<ComplaintWithMessages> = {
  ...columns,
  messages: ({ messages }) => messages.map(({ author, text }) => `${author}: ${inOneLine(text)}`).join(' | '),
}

export function complaintsCommand(): Command {
  return addLimitOption(
    listCommand({
      name: 'complaints',
      description: 'list open complaints about the account and its servers, the earliest deadline first',
      columns,
      shown: ['id', 'kind', 'server', 'status', 'deadline'],
      items: async (session, options: LimitOptions & { closed?: true }) =>
        upTo(session, options, session.berth.complaints.listAll(options.closed ? { status: 'closed' } : {})),
    }).option('--closed', 'those that are closed instead, newest first'),
  )
}

export function complaintCommand(): Command {
  return new Command('complaint')
    .description('show a complaint with all answers and replies')
    .argument('<id>', 'id of the complaint')
    .action(action(async ({ berth, show }, id: string) => show(await berth.complaints.get(id), details)))
}

export function answerComplaintCommand(): Command {
  return new Command('answer-complaint')
    .description('answer a complaint: the operator replies or closes it')
    .argument('<id>', 'id of the complaint')
    .requiredOption('--text <text>', 'your answer, up to 2,000 characters')
    .action(
      action(async ({ berth, show }, id: string, { text }: { text: string }) =>
        show(await berth.complaints.answer(id, text), details),
      ),
    )
}
