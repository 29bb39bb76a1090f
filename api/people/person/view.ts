import type { AccountTable } from '../../accounts/tables.ts'
import type { SignedIn } from '../../http/contract/auth.ts'
import { isoTime, isoTimeOrNull } from '../../http/contract/fields.ts'
import type { Passkey } from '../passkeys/schema.ts'
import type { Invitation, Member, Person, Session } from './schema.ts'
import type { InvitationTable, MemberTable, PasskeyTable, PersonTable, SessionTable } from './tables.ts'

export function personView(
  row: PersonTable,
  { sessionId, accountId }: SignedIn,
  memberships: readonly (MemberTable & { account: AccountTable })[],
  {
    twoFactor,
    issuer,
  }: { twoFactor: { enabledAt: number; recoveryCodesLeft: number } | null; issuer: string | null },
): Person {
  return {
    person_id: row.person_id,
    email: row.email,
    name: row.name,
    language: row.language,
    is_operator: row.is_operator === 1,
    has_password: row.password !== null,
    two_factor: twoFactor && {
      enabled_at: isoTime(twoFactor.enabledAt),
      recovery_codes_left: twoFactor.recoveryCodesLeft,
    },
    identity_provider: issuer && new URL(issuer).hostname,
    created_at: isoTime(row.created_at),
    session_id: sessionId,
    account_id: accountId,
    accounts: memberships.map(({ member_id, role, account }) => ({
      account_id: account.account_id,
      member_id,
      name: account.name,
      email: account.email,
      status: account.status,
      role,
    })),
  }
}

export function sessionView(row: SessionTable, currentId: string): Session {
  return {
    session_id: row.session_id,
    is_current: row.session_id === currentId,
    address: row.address,
    user_agent: row.user_agent,
    created_at: isoTime(row.created_at),
    last_used_at: isoTime(row.last_used_at),
    expires_at: isoTime(row.expires_at),
  }
}

export function memberView(row: MemberTable & Pick<PersonTable, 'email' | 'name'>): Member {
  return {
    member_id: row.member_id,
    person_id: row.person_id,
    email: row.email,
    name: row.name,
    role: row.role,
    created_at: isoTime(row.created_at),
  }
}

export function invitationView(row: InvitationTable): Invitation {
  return {
    invitation_id: row.invitation_id,
    email: row.email,
    role: row.role,
    invited_by: row.invited_by,
    created_at: isoTime(row.created_at),
    expires_at: isoTime(row.expires_at),
  }
}

export function passkeyView(row: PasskeyTable): Passkey {
  return {
    passkey_id: row.passkey_id,
    name: row.name,
    is_synced: row.is_synced === 1,
    created_at: isoTime(row.created_at),
    last_used_at: isoTimeOrNull(row.last_used_at),
  }
}
