import type { AccountTable } from '../../accounts/tables.ts'
import type { Catalog } from '../../catalog/file.ts'
import { secondCurrencyView } from '../../catalog/view.ts'
import type { SignedIn } from '../../http/contract/auth.ts'
import { isoTime } from '../../http/contract/fields.ts'
import { mutableMails } from '../person/schema.ts'
import type { MemberTable, PersonTable } from '../person/tables.ts'
import type { Person, SignInOptions } from './schema.ts'

export function personView(
  row: PersonTable,
  { sessionId, accountId }: SignedIn,
  memberships: readonly (MemberTable & { account: AccountTable })[],
  {
    twoFactor,
    issuer,
    terms,
  }: {
    twoFactor: { enabledAt: number; recoveryCodesLeft: number } | null
    issuer: string | null
    terms: Person['terms_due']
  },
): Person {
  return {
    person_id: row.person_id,
    email: row.email,
    name: row.name,
    language: row.language,
    muted_mails: mutableMails.filter((kind) => row.muted_mails.split(' ').includes(kind)),
    is_operator: row.is_operator === 1,
    has_password: row.password !== null,
    two_factor: twoFactor && {
      enabled_at: isoTime(twoFactor.enabledAt),
      recovery_codes_left: twoFactor.recoveryCodesLeft,
    },
    identity_provider: issuer && new URL(issuer).hostname,
    terms_due: terms,
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

export function operatorView({ operator }: Pick<Catalog, 'operator'>): SignInOptions['operator'] {
  const { name, contact, logoUrl, terms, secondCurrency } = operator
  return { name, contact, logo_url: logoUrl, terms, second_currency: secondCurrencyView(secondCurrency) }
}
