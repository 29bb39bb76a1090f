import type { Clock } from '../../api/clock.ts'
import type { Database } from '../../api/database/database.ts'
import { addMember } from '../../api/people/membership/members.ts'
import { createPerson } from '../../api/people/person/people.ts'
import { createSession } from '../../api/people/person/sessions.ts'

/** The areas that a role may change, which the simulation states independently of the product. */
const changes = {
  owner: ['account', 'servers'],
  admin: ['account', 'servers'],
  member: ['servers'],
  billing: ['account'],
  viewer: [],
} as const satisfies Record<string, readonly Area[]>
type Area = 'account' | 'servers'
export type Role = keyof typeof changes
export const roles = Object.keys(changes) as Role[] // the table's keys

/** True if a person with this role, or with none, may make such a change. */
export function mayChange(role: Role | undefined, path: string): boolean {
  if (path === '/pricing/quote') return role !== undefined
  const area = /^\/(account|webhooks)\b/.test(path) ? 'account' : 'servers'
  const allowed: readonly Area[] = role ? changes[role] : []
  return allowed.includes(area)
}

/**
 * Adds people with each role to an account.
 * @returns their signed-in browsers, and ids as members
 */
export function enroll(
  db: Database,
  clock: Clock,
  accountId: string,
): Promise<{ headers: Record<string, string>; memberId: string; secret: string }[]> {
  return db.transaction().execute(async (tx) => {
    const members = []
    for (const role of roles) {
      const email = `${role}@${accountId}.example.com`
      const person = await createPerson(tx, clock, { email, name: role, language: 'en', password: null })
      if (!person) throw new Error('the person exists already')
      const personId = person.person_id
      const { member_id: memberId } = await addMember(tx, clock, { accountId, personId, role })
      const visit = { address: '127.0.0.1', userAgent: 'simulation', isSecure: false }
      const { secret } = await createSession(tx, clock, { personId, visit })
      const headers = { cookie: `berth_session=${secret}`, 'sec-fetch-site': 'same-origin' }
      members.push({ headers, memberId, secret })
    }
    return members
  })
}
