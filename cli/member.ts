import { type Invitation, type InvitationCreate, type Member, roles } from '@berth/sdk'
import { Argument, Command, Option } from 'commander'
import { confirmDelete } from './ask.ts'
import { deleted } from './delete.ts'
import { find, idOf, kind } from './find.ts'
import type { Columns } from './output.ts'
import { action, listCommand } from './session.ts'

export const memberKind = kind({
  noun: 'member',
  all: (berth) => berth.members.listAll(),
  id: ({ member_id }) => member_id,
  name: ({ email }) => email,
})

export const invitationKind = kind({
  noun: 'invitation',
  all: (berth) => berth.invitations.listAll(),
  id: ({ invitation_id }) => invitation_id,
  name: ({ email }) => email,
})

type Role = Member['role']
const ADDRESS = 'e-mail address or id'

const memberColumns: Columns<Member> = {
  id: ({ member_id }) => member_id,
  email: ({ email }) => email,
  name: ({ name }) => name,
  role: ({ role }) => role,
  person: ({ person_id }) => person_id,
  created: ({ created_at }) => created_at,
}

const invitationColumns: Columns<Invitation> = {
  id: ({ invitation_id }) => invitation_id,
  email: ({ email }) => email,
  role: ({ role }) => role,
  invited_by: ({ invited_by }) => invited_by,
  expires: ({ expires_at }) => expires_at,
  created: ({ created_at }) => created_at,
}

export function memberCommand(): Command {
  return new Command('member')
    .description('manage the people in the account')
    .addCommand(
      listCommand({
        description: 'list the people in the account and their roles, newest first',
        columns: memberColumns,
        shown: ['id', 'email', 'name', 'role'],
        items: async ({ berth }) => berth.members.listAll(),
      }),
    )
    .addCommand(roleCommand())
    .addCommand(removeCommand())
}

function roleCommand(): Command {
  return new Command('role')
    .description('change the role of a member, with immediate effect')
    .argument('<member>', ADDRESS)
    .addArgument(new Argument('<role>', 'new role').choices(roles))
    .action(
      action(async ({ berth, show }, given: string, role: Role) => {
        await show(await berth.members.update(await idOf(berth, memberKind, given), { role }), {
          ID: ({ member_id }) => member_id,
          'E-mail': ({ email }) => email,
          Name: ({ name }) => name,
          Role: ({ role }) => role,
        })
      }),
    )
}

function removeCommand(): Command {
  return new Command('delete')
    .description('remove a member and revoke the tokens that the person created; asks you to confirm')
    .argument('<member>', ADDRESS)
    .option('-y, --yes', 'skip the confirmation')
    .action(
      action(async ({ berth, terminal, note }, given: string, { yes }: { yes?: boolean }) => {
        const { member_id, email } = await find(berth, memberKind, given)
        await confirmDelete(terminal, { noun: 'member', name: email, yes })
        await berth.members.delete(member_id)
        note(deleted(memberKind, email))
      }),
    )
}

export function invitationCommand(): Command {
  return new Command('invitation')
    .description('invite people into the account')
    .addCommand(
      listCommand({
        description: 'list pending invitations, newest first',
        columns: invitationColumns,
        shown: ['id', 'email', 'role', 'invited_by', 'expires'],
        items: async ({ berth }) => berth.invitations.listAll(),
      }),
    )
    .addCommand(inviteCommand())
    .addCommand(withdrawCommand())
}

function inviteCommand(): Command {
  return new Command('create')
    .description('send an invitation by e-mail; it replaces an earlier one to the same address')
    .argument('<email>', 'e-mail address')
    .addOption(new Option('--role <role>', 'role of the person').choices(roles).makeOptionMandatory())
    .addOption(new Option('--language <language>', 'language of the e-mail').choices(['en', 'ru']))
    .action(
      action(async ({ berth, show }, email: string, options: Omit<InvitationCreate, 'email'>) => {
        await show(await berth.invitations.create({ email, ...options }), {
          ID: ({ invitation_id }) => invitation_id,
          'E-mail': ({ email }) => email,
          Role: ({ role }) => role,
          Expires: ({ expires_at }) => expires_at,
        })
      }),
    )
}

function withdrawCommand(): Command {
  return new Command('delete')
    .description('revoke an invitation: its link stops working')
    .argument('<invitation>', ADDRESS)
    .action(
      action(async ({ berth, note }, given: string) => {
        await berth.invitations.delete(await idOf(berth, invitationKind, given))
        note(deleted(invitationKind, given))
      }),
    )
}
