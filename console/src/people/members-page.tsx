import type { Invitation, Member } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { UNKNOWN } from '../format.ts'
import { personQuery, sessionQuery, useMay } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import type { Example } from '../ui/example.ts'
import { Allowed } from '../ui/guarded.tsx'
import { Menu } from '../ui/menu.tsx'
import { Card, Page } from '../ui/page.tsx'
import { Failed, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { InviteForm, Leave, RemoveMember, RoleDialog } from './member-forms.tsx'
import { useMembersText } from './members-text.ts'
import { invitationsQuery, membersQuery } from './queries.ts'

const examples: readonly Example[] = [
  { route: 'GET /account/members', berth: 'berth member list', sdk: 'members.list' },
  {
    route: 'POST /account/invitations',
    body: { email: 'ann@example.com', role: 'viewer' },
    berth: 'berth member invite ann@example.com --role viewer',
    sdk: 'invitations.create',
  },
]

export function MembersPage() {
  const t = useMembersText()
  const members = useQuery(membersQuery)
  const invitations = useQuery(invitationsQuery)
  const [isInviting, setIsInviting] = useState(false)
  const close = () => setIsInviting(false)
  return (
    <Page
      title={t.members}
      about={t.membersAbout}
      scope="account:write"
      examples={examples}
      actions={
        <Button kind="primary" icon="plus" onClick={() => setIsInviting(true)}>
          {t.invite}
        </Button>
      }
    >
      <div className="stack">
        <Loaded query={members}>{({ items }) => <Members members={items} />}</Loaded>
        <Loaded query={invitations}>{({ items }) => <Invitations invitations={items} />}</Loaded>
      </div>
      {isInviting ? (
        <Dialog title={t.invite} isSide onClose={close}>
          <InviteForm onDone={close} />
        </Dialog>
      ) : null}
    </Page>
  )
}

type Asked = { what: 'role' | 'remove' | 'leave'; member: Member } | null

function Members({ members }: { members: readonly Member[] }) {
  const t = useMembersText()
  const may = useMay('account:write')
  const person = useQuery(personQuery).data
  const account = useQuery(sessionQuery).data
  const [asked, setAsked] = useState<Asked>(null)
  const close = () => setAsked(null)
  const isSelf = ({ person_id }: Member) => person_id === person?.person_id
  const itemsOf = (member: Member) => [
    ...(may ? [{ title: t.change, onSelect: () => setAsked({ what: 'role', member }) }] : []),
    ...(isSelf(member)
      ? [{ title: t.leave, isDangerous: true, onSelect: () => setAsked({ what: 'leave', member }) }]
      : may
        ? [{ title: t.remove, isDangerous: true, onSelect: () => setAsked({ what: 'remove', member }) }]
        : []),
  ]
  return (
    <>
      <Table
        label={t.members}
        rows={members}
        idOf={({ member_id }) => member_id}
        columns={[
          {
            title: t.name,
            isWrapped: true,
            cell: (member) => <Name member={member} isSelf={isSelf(member)} />,
          },
          {
            title: t.role,
            cell: ({ role }) => <span title={t.rolesAbout[role]}>{t.roles[role]}</span>,
          },
          { title: t.since, cell: ({ created_at }) => <Time at={created_at} /> },
          {
            title: '',
            isNumber: true,
            cell: (member) => {
              const items = itemsOf(member)
              return items.length > 0 ? <Menu label={member.name} items={items} /> : null
            },
          },
        ]}
      />
      {asked?.what === 'role' ? <RoleDialog member={asked.member} onClose={close} /> : null}
      {asked?.what === 'remove' ? <RemoveMember member={asked.member} onClose={close} /> : null}
      {asked?.what === 'leave' && account ? <Leave accountId={account.account_id} onClose={close} /> : null}
    </>
  )
}

function Name({ member: { name, email }, isSelf }: { member: Member; isSelf: boolean }) {
  const t = useMembersText()
  return (
    <>
      <span className="title">{name}</span>
      {isSelf ? <span className="muted"> · {t.you}</span> : null}
      {email === name ? null : <div className="muted small">{email}</div>}
    </>
  )
}

function Invitations({ invitations }: { invitations: readonly Invitation[] }) {
  const t = useMembersText()
  const withdraw = useMutation({
    mutationFn: ({ invitation_id }: Invitation) => berth.invitations.delete(invitation_id),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['invitation'] }),
  })
  return (
    <Card title={t.invitations}>
      {invitations.length === 0 ? (
        <p className="body muted">{t.noInvitations}</p>
      ) : (
        <Table
          label={t.invitations}
          rows={invitations}
          idOf={({ invitation_id }) => invitation_id}
          columns={[
            { title: t.email, isWrapped: true, cell: ({ email }) => <span className="title">{email}</span> },
            { title: t.role, cell: ({ role }) => t.roles[role] },
            { title: t.invitedBy, cell: ({ invited_by }) => invited_by ?? UNKNOWN },
            { title: t.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
            {
              title: '',
              isNumber: true,
              cell: (invitation) => (
                <Allowed scope="account:write">
                  <Button
                    kind="quiet"
                    isBusy={withdraw.isPending}
                    onClick={() => withdraw.mutate(invitation)}
                  >
                    {t.withdraw}
                  </Button>
                </Allowed>
              ),
            },
          ]}
        />
      )}
      {withdraw.error ? (
        <div className="body">
          <Failed error={withdraw.error} />
        </div>
      ) : null}
    </Card>
  )
}
