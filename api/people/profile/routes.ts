import { notAMember } from '../../http/contract/auth.ts'
import { httpProblems } from '../../http/contract/problem.ts'
import { type Route, route } from '../../http/contract/route.ts'
import { type Proof, proofErrors } from '../guard/proof.ts'
import { OwnProof } from '../guard/schema.ts'
import { membership } from '../membership/members.ts'
import { writeCookie } from '../person/cookie.ts'
import { updatePerson } from '../person/people.ts'
import { AccountChoice, LinkUse, peopleProblems } from '../person/schema.ts'
import { moveSession } from '../person/sessions.ts'
import type { SignInOptions } from '../sign-in/admission.ts'
import { showPerson } from '../sign-in/entry.ts'
import { Person } from '../sign-in/schema.ts'
import { acceptance } from '../sign-in/terms.ts'
import { shown } from '../two-factor/routes.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'
import { type DeletionOptions, deletePerson } from './deletion.ts'
import type { EmailChange } from './email-change.ts'
import { changePassword } from './password.ts'
import { EmailChangeRequest, PasswordChange, PersonUpdate } from './schema.ts'

const personTag = 'Person'

export type PeopleOptions = SignInOptions & DeletionOptions

interface Parts {
  proof: Proof
  twoFactor: TwoFactor
  emailChange: EmailChange
}

/** Routes for a person's own settings, whichever account they use. */
export function personRoutes(options: PeopleOptions, parts: Parts): Route[] {
  const { emailChange } = parts
  return [
    ...profileRoutes(options),
    passwordRoute(options, parts),
    ...emailRoutes(emailChange),
    accountRoute(options),
    deleteRoute(options, parts),
  ]
}

function profileRoutes(options: SignInOptions): Route[] {
  return [
    route({
      id: 'getPerson',
      method: 'GET',
      path: '/person',
      scope: 'person',
      tag: personTag,
      summary: 'Get the person who is signed in, and their accounts',
      description:
        'Returns the person with their role in each account that they are a member of. `account_id` is the account that requests are for.',
      reply: { 200: Person },
      run: ({ signedIn }) => showPerson(options, signedIn),
    }),
    route({
      id: 'updatePerson',
      method: 'PATCH',
      path: '/person',
      scope: 'person',
      tag: personTag,
      summary: 'Change the name, language or mails of the person, or accept terms',
      description:
        'Changes the fields in the body and leaves the others as they are. The e-mail address is changed by `POST /person/email`.',
      body: PersonUpdate,
      reply: { 200: Person },
      errors: [peopleProblems.terms_not_accepted],
      run: async ({ signedIn, body }) => {
        const { accepted_terms: accepted, muted_mails: muted, ...change } = body
        const terms = accepted === undefined ? {} : acceptance(options, accepted)
        const mails = muted === undefined ? {} : { muted_mails: muted.join(' ') }
        await updatePerson(options.db, signedIn.personId, { ...change, ...mails, ...terms })
        return showPerson(options, signedIn)
      },
    }),
  ]
}

function passwordRoute(options: SignInOptions, { proof, twoFactor }: Parts): Route {
  return route({
    id: 'changePassword',
    method: 'POST',
    path: '/person/password',
    scope: 'person',
    tag: personTag,
    summary: 'Change the password of the person',
    description:
      'Requires a code if two-factor authentication is on. Ends all other sessions of the person. Tokens stay valid, since they belong to accounts.',
    body: PasswordChange,
    reply: { 204: null },
    errors: [...proofErrors, peopleProblems.wrong_code],
    run: async ({ signedIn, body, report }) => {
      const { current_password: current, new_password: chosen, code } = body
      const person = await proof.require(signedIn, current, 'current_password')
      await changePassword({ ...options, twoFactor }, signedIn, { person, code, chosen })
      report({ event: 'password_changed', objectId: signedIn.personId })
    },
  })
}

function emailRoutes(emailChange: EmailChange): Route[] {
  return [
    route({
      id: 'requestEmailChange',
      method: 'POST',
      path: '/person/email',
      scope: 'person',
      tag: personTag,
      summary: 'Send a link to another e-mail address of the person',
      description:
        'Nothing changes until the link is opened, within an hour. Requires the password, and a code if two-factor authentication is on. The reply is the same if somebody has the address already; then the mail says so.',
      body: EmailChangeRequest,
      reply: { 204: null },
      errors: [...proofErrors, peopleProblems.wrong_code],
      run: ({ signedIn, body, visit }) => emailChange.request(signedIn, shown(body), visit),
    }),
    route({
      id: 'confirmEmailChange',
      method: 'POST',
      path: '/person/email/confirm',
      scope: 'person',
      tag: personTag,
      summary: 'Change the e-mail address of the person, with the link of the mail',
      description:
        'Only the person who requested the change can confirm it, while signed in. Ends all their other sessions, and sends a notice to the earlier address. Accounts with the earlier address as their contact get the new one.',
      body: LinkUse,
      reply: { 204: null },
      errors: [peopleProblems.link_invalid],
      run: async ({ signedIn, body, report }) => {
        await emailChange.confirm(signedIn, body.token)
        report({ event: 'email_changed', objectId: signedIn.personId })
      },
    }),
  ]
}

function deleteRoute(options: PeopleOptions, parts: Parts): Route {
  return route({
    id: 'deletePerson',
    method: 'POST',
    path: '/person/delete',
    scope: 'person',
    tag: personTag,
    summary: 'Delete the person',
    description:
      'Requires the password, and a code if two-factor authentication is on. Ends their sessions, and deletes their credentials and the tokens that they created. They leave all accounts: an account without other members is closed for good, and its balance is not paid back automatically. Refused while they are the only owner of an account that has other members, servers, public addresses or debts.',
    body: OwnProof,
    reply: { 204: null },
    errors: [
      ...proofErrors,
      peopleProblems.wrong_code,
      peopleProblems.last_owner,
      peopleProblems.account_in_use,
    ],
    run: async ({ signedIn, body, visit, setHeader, report }) => {
      await deletePerson(options, parts, { signedIn, ...shown(body) })
      setHeader('set-cookie', writeCookie(null, visit.isSecure, 0))
      report({ event: 'person_deleted', objectId: signedIn.personId })
    },
  })
}

function accountRoute(options: SignInOptions): Route {
  return route({
    id: 'chooseAccount',
    method: 'POST',
    path: '/person/account',
    scope: 'person',
    tag: personTag,
    summary: 'Switch the session to another account',
    description:
      'Requests of this session are for that account from here on, unless they name another in `Berth-Account`. A page that may be open in several tabs should always send that header.',
    body: AccountChoice,
    reply: { 200: Person },
    run: async ({ signedIn, body }) => {
      const { account_id: accountId } = body
      const { personId, sessionId } = signedIn
      if (!(await membership.first(options.db, { accountId, personId }))) throw notAMember()
      await moveSession(options.db, sessionId, accountId)
      return showPerson(options, { ...signedIn, accountId })
    },
    errors: [httpProblems.not_a_member],
  })
}
