import { Argument, Command, Option } from 'commander'
import { systemClock as clock } from '../clock.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import type { Database, Queries } from '../database/database.ts'
import type { Page } from '../database/page.ts'
import { type Role, roleNames } from '../http/contract/auth.ts'
import { noteChange } from '../people/letters/notices.ts'
import { addMember, membership, membershipsOf } from '../people/membership/members.ts'
import { createLink } from '../people/person/links.ts'
import {
  canonicalEmail,
  createPerson,
  personByEmail,
  searchPeople,
  setOperator,
} from '../people/person/people.ts'
import { endSessions, holdPerson } from '../people/person/sessions.ts'
import { isTwoFactorOn, removeTwoFactor } from '../people/two-factor/enrollment.ts'
import { openSecrets } from './installation.ts'
import { paged, printMore } from './listing.ts'
import { accountByNameOrId, type ReadConfig, withDatabase } from './operator.ts'
import { printTable } from './print.ts'
import { siteOf } from './site.ts'

export function personCommands(config: ReadConfig): Command {
  const person = new Command('person').description('manage the people who sign in')
  addListCommand(person, config)
  addAddCommand(person, config)
  person
    .command('link')
    .description('create a link that signs a person in; valid once, for a day')
    .argument('<email>', 'e-mail address')
    .action(async (email: string) => {
      const parsed = config()
      await withDatabase(parsed, 'person link', async (db) => {
        await printLink(db, parsed, await personNamed(db, email))
      })
    })
  person
    .command('operator')
    .description("grant a person the operator's role, or revoke it")
    .argument('<email>', 'e-mail address')
    .addArgument(new Argument('<state>', 'on or off').choices(['on', 'off']))
    .action(async (email: string, state: string) => {
      await withDatabase(config(), 'person operator', async (db) => {
        const { person_id } = await personNamed(db, email)
        await setOperator(db, person_id, state === 'on')
        const isWaiting = state === 'on' && !(await isTwoFactorOn(db, person_id))
        console.log(`${email} is ${state === 'on' ? 'an operator' : 'not an operator'}.`)
        if (isWaiting)
          console.log(
            "The operator's pages require two-factor authentication. Turn it on in the console, under Security.",
          )
      })
    })
  addTwoFactorCommand(person, config)
  return person
}

function addTwoFactorCommand(person: Command, config: ReadConfig): void {
  person
    .command('two-factor')
    .description('remove the second factor of a person who has lost it, and end their sessions')
    .argument('<email>', 'e-mail address')
    .addArgument(new Argument('<state>', 'off').choices(['off']))
    .requiredOption('--reason <text>', 'reason, which the person receives by mail')
    .action(async (email: string, _state: string, { reason }: { reason: string }) => {
      const parsed = config()
      await withDatabase(parsed, 'person two-factor', async (db) => {
        const secrets = await openSecrets(parsed, db)
        const { site } = await siteOf(parsed)
        const siteUrl = () => site
        const found = await personNamed(db, email)
        await db.transaction().execute(async (tx) => {
          await endSessions(tx, found.person_id)
          if (!(await removeTwoFactor(tx, found.person_id)))
            throw new CommandError(`Nothing changed: ${found.email} has no second factor.`)
          await noteChange(tx, { clock, secrets, siteUrl }, found, 'two_factor_removed', reason)
        })
        console.log(`${found.email} signs in without a second factor, and was notified by mail.`)
      })
    })
}

function addListCommand(person: Command, config: ReadConfig): void {
  const list = person
    .command('list')
    .description('list people with their accounts and roles, newest first')
    .option('--search <text>', 'only those with this in their name or e-mail address')
    .option('--operators', 'only operators')
  paged(list, 'people').action(async (options: Page & { search?: string; operators?: boolean }) => {
    await withDatabase(config(), 'person list', async (db) => {
      const { items, total } = await searchPeople(db, options, options)
      const rows = await Promise.all(
        items.map(async ({ person_id, email, name, is_operator }) => {
          const memberships = await membershipsOf(db, person_id)
          const roles = memberships.map(({ role, account }) => `${role} of ${account.email}`).join(', ')
          return [email, name, is_operator === 1 ? 'operator' : '', roles]
        }),
      )
      printTable(['E-MAIL', 'NAME', 'OPERATOR', 'ACCOUNTS'], rows)
      printMore(options, items.length, total, 'people')
    })
  })
}

function addAddCommand(person: Command, config: ReadConfig): void {
  person
    .command('add')
    .description('add a person to an account, and create a link that signs them in')
    .argument('<email>', 'e-mail address of the person')
    .argument('<account>', 'e-mail address or id of the account')
    .addOption(new Option('--as <role>', 'role in the account').choices(roleNames).default('owner'))
    .option('--name <name>', 'display name', '')
    .action(async (given: string, account: string, { as: role, name }: { as: Role; name: string }) => {
      if (!/^[^\s@]+@[^\s@]+$/.test(given)) throw new ConfigError(`"${given}" is not an e-mail address.`)
      const parsed = config()
      const email = canonicalEmail(given)
      await withDatabase(parsed, 'person add', async (db) => {
        const { account_id: accountId } = await accountByNameOrId(db, account)
        await db.transaction().execute(async (tx) => {
          const fresh = { email, name: name || email, language: 'en', password: null } as const
          const { person_id: personId } =
            (await createPerson(tx, clock, fresh)) ?? (await personNamed(tx, email))
          await holdPerson(tx, personId)
          if (await membership.first(tx, { accountId, personId }))
            throw new CommandError(`Nothing changed: ${email} is already in the account.`)
          await addMember(tx, clock, { accountId, personId, role })
        })
        await printLink(db, parsed, await personNamed(db, email))
      })
    })
}

/** @throws ConfigError */
async function personNamed(db: Queries, email: string) {
  const person = await personByEmail(db, canonicalEmail(email))
  if (!person) throw new ConfigError(`No such person: ${email}. List them with: berthd person list`)
  return person
}

async function printLink(
  db: Database,
  config: Config,
  { email, language, person_id }: Awaited<ReturnType<typeof personNamed>>,
): Promise<void> {
  const secret = await db
    .transaction()
    .execute((tx) => createLink(tx, clock, { purpose: 'sign_in', email, language, person_id }))
  const { site, isOfService } = await siteOf(config)
  console.error(`A link that signs ${email} in, valid once, for a day; earlier links are revoked:`)
  console.log(`${site}/sign-in#${secret}`)
  if (!isOfService && config.publicName === null)
    console.error(
      `The address ${site} comes from the settings of this command (HOST, PORT), because no running service has reported its own.`,
    )
}
