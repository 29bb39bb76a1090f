import { type Member, roles } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { locales, usePreferences } from '../preferences.ts'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { useMembersText } from './members-text.ts'

type Role = Member['role']

interface RoleFieldProps {
  value: Role
  onChange: (role: Role) => void
}

/** All roles are offered; the API refuses those that exceed the person's own. */
function RoleField({ value, onChange }: RoleFieldProps) {
  const t = useMembersText()
  return (
    <SelectField
      label={t.role}
      hint={t.rolesAbout[value]}
      value={value}
      options={roles.map((role) => ({ value: role, title: t.roles[role] }))}
      onChange={onChange}
    />
  )
}

export function InviteForm({ onDone }: { onDone: () => void }) {
  const t = useMembersText()
  const { locale } = usePreferences()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const [language, setLanguage] = useState(locale)
  const invite = useMutation({
    mutationFn: () => berth.invitations.create({ email, role, language }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['invitation'] })
      onDone()
    },
  })
  const fieldError = useFieldError(invite.error)
  return (
    <Form
      submit={t.invite}
      mutation={invite}
      isReady={email !== ''}
      onSubmit={() => invite.mutate()}
      onCancel={onDone}
    >
      <p className="muted">{t.inviteAbout}</p>
      <TextField
        label={t.email}
        type="email"
        error={fieldError('email')}
        value={email}
        autoFocus
        onChange={(event) => setEmail(event.target.value.trim())}
      />
      <RoleField value={role} onChange={setRole} />
      <SelectField
        label={t.language}
        value={language}
        options={locales.map((value) => ({ value, title: t.languages[value] }))}
        onChange={setLanguage}
      />
    </Form>
  )
}

interface MemberDialogProps {
  member: Member
  onClose: () => void
}

const refresh = () => queryClient.invalidateQueries({ queryKey: ['member'] })

export function RoleDialog({ member, onClose }: MemberDialogProps) {
  const t = useMembersText()
  const [role, setRole] = useState(member.role)
  const change = useMutation({
    mutationFn: () => berth.members.update(member.member_id, { role }),
    onSuccess: async () => {
      await Promise.all([refresh(), queryClient.invalidateQueries({ queryKey: ['session'] })])
      onClose()
    },
  })
  return (
    <Dialog title={t.changeTitle(member.name)} onClose={onClose}>
      <Form
        submit={t.change}
        mutation={change}
        isReady={role !== member.role}
        onSubmit={() => change.mutate()}
        onCancel={onClose}
      >
        <p className="muted">{t.changeAbout}</p>
        <RoleField value={role} onChange={setRole} />
      </Form>
    </Dialog>
  )
}

export function RemoveMember({ member, onClose }: MemberDialogProps) {
  const t = useMembersText()
  const remove = useMutation({
    mutationFn: () => berth.members.delete(member.member_id),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <ConfirmDelete title={t.removeTitle(member.name)} name={member.email} mutation={remove} onClose={onClose}>
      <p>{t.removeAbout}</p>
    </ConfirmDelete>
  )
}

export function Leave({ accountId, onClose }: { accountId: string; onClose: () => void }) {
  const t = useMembersText()
  const leave = useMutation({
    mutationFn: () => berth.members.leave({ account_id: accountId }),
    onSuccess: () => location.assign('/'),
  })
  return (
    <Dialog title={t.leaveTitle} onClose={onClose}>
      <Form submit={t.leave} mutation={leave} onSubmit={() => leave.mutate()} onCancel={onClose}>
        <p>{t.leaveAbout}</p>
      </Form>
    </Dialog>
  )
}
