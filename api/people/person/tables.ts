declare module '../../database/schema.ts' {
  interface Schema {
    people: PersonTable
    members: MemberTable
    sessions: SessionTable
    links: LinkTable
    two_factors: TwoFactorTable
    recovery_codes: RecoveryCodeTable
    passkeys: PasskeyTable
    identities: IdentityTable
    spent_tickets: SpentTicketTable
    attempts: AttemptTable
    invitations: InvitationTable
  }
}

/** A person who can sign in. */
export interface PersonTable {
  person_id: string
  /** In lower case. The person has proven it by opening a mailed link. */
  email: string
  name: string
  language: 'en' | 'ru'
  /** The hash that guard/passwords.ts writes; null if the person has no password. */
  password: string | null
  /** 1 if the person runs this installation. */
  is_operator: number
  /** The terms that the person accepted when they signed up; null if there were none. */
  terms_version: string | null
  terms_accepted_at: number | null
  /** The kinds of mails that the person does not want, separated by spaces. */
  muted_mails: string
  /** JSON: the places that the person signed in from, those used last first. */
  places: string
  created_at: number
}

/** A network and a browser that a person signed in with. */
export interface Place {
  network: string
  browser: string
  /** When it was used last, to the day. */
  at: number
  /** When the person was mailed that it was new; null if it was the first or combines known ones. */
  mailed_at: number | null
}

export interface MemberTable {
  member_id: string
  account_id: string
  person_id: string
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer'
  created_at: number
}

/** A browser that a person has signed in with; one that has ended has no row. */
export interface SessionTable {
  session_id: string
  person_id: string
  /** The account that requests are for unless they name one. */
  account_id: string | null
  /** SHA-256 of the cookie's secret, hex. */
  hash: string
  address: string
  user_agent: string
  created_at: number
  last_used_at: number
  expires_at: number
}

/** A link that was mailed, and works once. */
export interface LinkTable {
  /** SHA-256 of the link's secret, hex. */
  hash: string
  purpose: 'sign_up' | 'reset' | 'sign_in' | 'email'
  /** The address that it was mailed to. */
  email: string
  /** Null if nobody has the address yet. */
  person_id: string | null
  language: 'en' | 'ru'
  created_at: number
  expires_at: number
}

/** An app that shows codes, as the second factor of a person. */
export interface TwoFactorTable {
  person_id: string
  /** Sealed. */
  secret: string
  /** Null until a first code has proven that the app has the secret. */
  enabled_at: number | null
  /** The step of the last accepted code: earlier codes are not accepted again. */
  last_step: number
  created_at: number
}

/** A code that signs in once in place of a code from the app. */
export interface RecoveryCodeTable {
  /** SHA-256, hex. */
  hash: string
  person_id: string
}

/** A key that a person's device holds. */
export interface PasskeyTable {
  passkey_id: string
  person_id: string
  /** The id that its authenticator gave it, base64url. */
  credential_id: string
  /** COSE, base64url. */
  public_key: string
  is_synced: number
  /** Number of its signatures, as the device counts them; 0 if it does not, as for synchronized keys. */
  counter: number
  name: string
  created_at: number
  last_used_at: number | null
}

/** A person's identity at the provider; each person has at most one. */
export interface IdentityTable {
  person_id: string
  issuer: string
  /** The provider's permanent id for the person; their address there may change. */
  subject: string
  created_at: number
}

/** A used ticket, which is kept until it would have expired anyway. */
export interface SpentTicketTable {
  ticket_id: string
  expires_at: number
}

/** A count of recent attempts, kept until all of them are forgotten. */
export interface AttemptTable {
  attempt_key: string
  expires_at: number
}

export interface InvitationTable {
  invitation_id: string
  account_id: string
  email: string
  role: MemberTable['role']
  /** SHA-256 of the link's secret, hex. */
  hash: string
  /** E-mail address of the person who sent it; null for a token or the operator. */
  invited_by: string | null
  /** The person who invited, and the token that they used; both are null for the operator. */
  person_id: string | null
  token_id: string | null
  created_at: number
  expires_at: number
}
