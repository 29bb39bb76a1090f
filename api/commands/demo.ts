import { existsSync } from 'node:fs'
import path from 'node:path'
import { createAccount, findAccountByEmail, listAccounts } from '../accounts/accounts.ts'
import { activeAccounts } from '../accounts/status.ts'
import { createToken } from '../accounts/tokens.ts'
import { accountsBooked, balanceOf, post } from '../billing/ledger.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { writeWholeSync } from '../files.ts'
import { parseMoney } from '../money.ts'
import { addMember, hasMembers } from '../people/membership/members.ts'
import { createLink } from '../people/person/links.ts'
import { createPerson, personByEmail } from '../people/person/people.ts'

const DEMO_EMAIL = 'demo@berth.local'
const DEMO_BALANCE = '10000.00'
const REFERENCE = 'demo'

export interface Demo {
  email: string
  accountId: string
  /** Units. */
  balance: number
  tokenFile: string
  /** The token's value; set only on the start that created it. */
  newToken: string | null
  /** A link that signs its owner in once; set until they have chosen a password, if it may be shown. */
  signInLink: string | null
}

/**
 * Opens the demo account, and creates its missing parts: account, balance, token. Null if there are other
 * accounts. If strangers may be customers, it gets no money, and its token is only written to its file.
 */
export async function openDemo(
  db: Database,
  config: Pick<Config, 'dataDir' | 'isPublic'>,
  { site, isShown, clock = systemClock }: { site: string; isShown: boolean; clock?: Clock },
): Promise<Demo | null> {
  const tokenFile = path.join(config.dataDir, 'demo-token')
  const accountId = await demoAccount(db, clock)
  if (accountId === null) return null
  if (!config.isPublic)
    await post(db, clock, {
      accountId,
      type: 'payment',
      amount: parseMoney(DEMO_BALANCE),
      description: 'Welcome to Berth',
      reference: REFERENCE,
    })
  let newToken: string | null = null
  if (!existsSync(tokenFile)) {
    const scopes = ['account:read', 'account:write', 'servers:read', 'servers:write'] as const
    newToken = (await createToken(db, clock, { accountId, name: 'demo', scopes, expiresAt: null })).value
    writeWholeSync(tokenFile, `${newToken}\n`)
    if (config.isPublic) newToken = null
  }
  const secret = config.isPublic || !isShown ? null : await demoLink(db, clock, accountId)
  const signInLink = secret && `${site}/sign-in#${secret}`
  return {
    email: DEMO_EMAIL,
    accountId,
    balance: await balanceOf(db, accountId),
    tokenFile,
    newToken,
    signInLink,
  }
}

/** Creates the demo account's owner if it has no members. @returns the sign-in link; null if they have a password */
function demoLink(db: Database, clock: Clock, accountId: string): Promise<string | null> {
  return db.transaction().execute(async (tx) => {
    const person = { email: DEMO_EMAIL, name: 'Demo', language: 'en', password: null } as const
    const created = await createPerson(tx, clock, person)
    if (created && !(await hasMembers(tx, accountId)))
      await addMember(tx, clock, { accountId, personId: created.person_id, role: 'owner' })
    const owner = created ?? (await personByEmail(tx, DEMO_EMAIL))
    if (!owner || owner.password !== null) return null
    const { email, language, person_id } = owner
    return createLink(tx, clock, { purpose: 'sign_in', email, language, person_id })
  })
}

/** The demo account's balance of money that nobody paid; 0 if it is closed or missing. */
export async function demoBalance(db: Database): Promise<number> {
  const named = await findAccountByEmail(db, DEMO_EMAIL)
  if (named?.status === 'active') return balanceOf(db, named.account_id)
  // The account is found by its entry, as its owner may have changed the e-mail address.
  const [accountId] = await accountsBooked(db, activeAccounts, REFERENCE)
  return accountId === undefined ? 0 : balanceOf(db, accountId)
}

/** An operator who has created an account needs no demo account, even if that account is closed. */
async function demoAccount(db: Database, clock: Clock): Promise<string | null> {
  const accounts = await listAccounts(db)
  if (accounts.length === 0) return createAccount(db, clock, { email: DEMO_EMAIL, name: 'Demo' })
  const demo = accounts.find(({ email }) => email === DEMO_EMAIL)
  return demo?.status === 'active' ? demo.account_id : null
}
