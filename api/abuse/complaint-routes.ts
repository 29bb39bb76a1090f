import { listOf, paged } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import { operatorProblems } from '../operator/schema.ts'
import { requireAccount } from '../operator/servers.ts'
import {
  Complaint,
  ComplaintAnswer,
  ComplaintClose,
  ComplaintCreate,
  ComplaintQuery,
  ComplaintReply,
  ComplaintWithMessages,
  complaintProblems,
  MOST_MESSAGES,
  MOST_OPEN,
  OperatedComplaint,
  OperatedComplaintQuery,
  OperatedComplaintWithMessages,
} from './complaint-schema.ts'
import {
  answerComplaint,
  type Complaining,
  closeComplaint,
  complaintView,
  findComplaint,
  listComplaints,
  openComplaint,
  operatedComplaint,
  operatedComplaints,
  replyToComplaint,
  wholeView,
} from './complaints.ts'

const own = '/account/complaints'
const path = '/operator/complaints'
const one = `${path}/:complaint_id` as const
const { complaint_closed, complaint_not_found, too_many_complaints, too_many_messages } = complaintProblems

export function complaintRoutes(place: Complaining): Route[] {
  return [...customersRoutes(place), ...operatorsRoutes(place), openRoute(place), ...changeRoutes(place)]
}

function customersRoutes(place: Complaining): Route[] {
  const { db, clock } = place
  const tag = 'Account'
  const onOne = {
    tag,
    params: { complaint_id: complaint_not_found },
    load: ({ actor, params }: { actor: { accountId: string }; params: { complaint_id: string } }) =>
      findComplaint(db, params.complaint_id, actor.accountId),
  }
  return [
    route({
      id: 'listComplaints',
      method: 'GET',
      path: own,
      scope: 'account:read',
      tag,
      summary: 'List complaints about the account and its servers',
      description:
        'What others complained about to the operator, such as spam: the open ones with the earliest deadline first or, by `status`, those that are closed. Answer each before its deadline; the operator may stop the server otherwise.',
      query: ComplaintQuery,
      reply: { 200: listOf(Complaint) },
      run: (call) =>
        paged(
          call,
          (page) => listComplaints(db, { ...call.query, account_id: call.actor.accountId }, page),
          complaintView(clock.now()),
        ),
    }),
    route({
      id: 'getComplaint',
      method: 'GET',
      path: `${own}/:complaint_id`,
      scope: 'account:read',
      ...onOne,
      summary: 'Get a complaint',
      description:
        'The complaint with all answers and replies, oldest first. Closed ones are kept for a year.',
      reply: { 200: ComplaintWithMessages },
      run: async ({ loaded }) => wholeView(clock.now())(loaded),
    }),
    route({
      id: 'answerComplaint',
      method: 'POST',
      path: `${own}/:complaint_id/answers`,
      scope: 'account:write',
      deed: 'answer',
      ...onOne,
      summary: 'Answer a complaint',
      description: `Write what you found and did; the operator reads it, and replies or closes the complaint. A suspended account can answer, too. At most ${MOST_MESSAGES} answers to one complaint are kept.`,
      body: ComplaintAnswer,
      reply: { 201: ComplaintWithMessages },
      errors: [complaint_closed, too_many_messages],
      run: async ({ loaded, body, remember }) =>
        wholeView(clock.now())(await answerComplaint(place, loaded, body.text, remember)),
      recover: async ({ actor }, id) => wholeView(clock.now())(await findComplaint(db, id, actor.accountId)),
    }),
  ]
}

function operatorsRoutes(place: Complaining): Route[] {
  const { db } = place
  return [
    route({
      id: 'listOperatedComplaints',
      method: 'GET',
      path,
      scope: 'operator:read',
      tag: 'Operator',
      summary: 'List complaints about all accounts, each with what to do',
      description:
        'The open ones with the earliest deadline first or, by `status`, those that are closed. One that was not answered in time is overdue, and nothing follows from that by itself.',
      query: OperatedComplaintQuery,
      reply: { 200: listOf(OperatedComplaint) },
      run: (call) =>
        paged(
          call,
          async (page) => {
            const { items, total } = await listComplaints(db, call.query, page)
            return { items: await operatedComplaints(place, items), total }
          },
          (complaint) => complaint,
        ),
    }),
    route({
      id: 'getOperatedComplaint',
      method: 'GET',
      path: one,
      scope: 'operator:read',
      ...onOne(place),
      summary: 'Get a complaint about an account',
      description:
        'The complaint with all answers and replies, oldest first. `remedy` is what to do about it next, with the exact command.',
      reply: { 200: OperatedComplaintWithMessages },
      run: ({ loaded }) => operatedComplaint(place, loaded),
    }),
  ]
}

function openRoute(place: Complaining): Route {
  const { db } = place
  return route({
    id: 'openComplaint',
    method: 'POST',
    path: '/operator/accounts/:account_id/complaints',
    scope: 'operator:write',
    tag: 'Operator',
    summary: 'Open a complaint about an account',
    description: `The customer sees it in the console and by \`GET /account/complaints\`, and its owners and admins get a mail within a minute, and a reminder before the deadline. Name nobody who wants to stay unnamed: the customer reads the text. At most ${MOST_OPEN} of an account are open; people of a frozen account cannot answer.`,
    params: { account_id: operatorProblems.account_not_found },
    load: ({ params: { account_id } }) => requireAccount(db, account_id),
    body: ComplaintCreate,
    reply: { 201: OperatedComplaintWithMessages },
    errors: [too_many_complaints],
    run: async ({ params: { account_id }, body, remember, report }) => {
      const row = await openComplaint(place, account_id, body, remember)
      report({ event: 'complaint_changed', objectId: row.complaint_id })
      return operatedComplaint(place, row)
    },
    recover: async (_call, id) => operatedComplaint(place, await findComplaint(db, id)),
  })
}

function changeRoutes(place: Complaining): Route[] {
  const { db } = place
  const changing = {
    method: 'POST',
    scope: 'operator:write',
    ...onOne(place),
    reply: { 201: OperatedComplaintWithMessages },
    errors: [complaint_closed, too_many_messages],
    recover: async (_call: unknown, id: string) => operatedComplaint(place, await findComplaint(db, id)),
  } as const
  return [
    route({
      ...changing,
      id: 'replyToComplaint',
      path: `${one}/replies`,
      summary: 'Reply to the customer of a complaint',
      description:
        'Asks for another answer: owners and admins get it by mail, and are awaited again, until a new deadline if you give one. To end it instead, close the complaint.',
      body: ComplaintReply,
      run: async ({ loaded, body, remember, report }) => {
        report({ event: 'complaint_changed', objectId: loaded.complaint_id })
        return operatedComplaint(place, await replyToComplaint(place, loaded, body, remember))
      },
    }),
    route({
      ...changing,
      id: 'closeComplaint',
      path: `${one}/close`,
      reply: { 200: OperatedComplaintWithMessages },
      summary: 'Close a complaint',
      description:
        'Owners and admins get the outcome by mail, with the text if you give one. It cannot be opened again, and is kept for a year.',
      body: ComplaintClose,
      run: async ({ loaded, body, remember, report }) => {
        report({ event: 'complaint_changed', objectId: loaded.complaint_id })
        return operatedComplaint(place, await closeComplaint(place, loaded, body, remember))
      },
    }),
  ]
}

/** The parts that the operator's routes about one complaint share. */
function onOne({ db }: Complaining) {
  return {
    tag: 'Operator',
    params: { complaint_id: complaint_not_found },
    load: ({ params }: { params: { complaint_id: string } }) => findComplaint(db, params.complaint_id),
  }
}
