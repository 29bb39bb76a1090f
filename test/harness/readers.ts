import type { Role } from '../../api/http/contract/auth.ts'
import { addMember } from '../../api/people/membership/members.ts'
import { createPerson } from '../../api/people/person/people.ts'
import type { TestApp } from './app.ts'

type Reader = readonly [email: string, role: Role, language: 'en' | 'ru']

/** Adds people to the account of the test, each with a role and a language. @returns their ids */
export async function addReaders(t: TestApp, readers: readonly Reader[]): Promise<string[]> {
  const ids: string[] = []
  for (const [email, role, language] of readers) {
    const person = await createPerson(t.db, t.clock, { email, name: 'X', language, password: null })
    if (!person) throw new Error(`${email} is taken`)
    await addMember(t.db, t.clock, { accountId: t.accountId, personId: person.person_id, role })
    ids.push(person.person_id)
  }
  return ids
}

/** Looks for due mails several times, partly at once as two processes may. @returns the mails sent */
export async function mailedBy(t: TestApp, loop: { look(): Promise<void> }) {
  const before = t.mails.length
  await Promise.all([loop.look(), loop.look()])
  await loop.look()
  await t.app.mails.look()
  return t.mails.slice(before)
}
