import { createAccount } from '../../api/accounts/accounts.ts'
import { createToken } from '../../api/accounts/tokens.ts'
import { post } from '../../api/billing/ledger.ts'
import type { Clock } from '../../api/clock.ts'
import { grantTrial } from '../../api/credits/trials.ts'
import type { Database } from '../../api/database/database.ts'
import { parseMoney } from '../../api/money.ts'
import { Secrets } from '../../api/secrets.ts'
import type { Customer, Known } from './acting.ts'
import type { Chance } from './chance.ts'
import { bearer, Client, type Credential, hint, type World } from './customer.ts'
import { enroll, roles } from './people.ts'
import { KEY, type Process } from './process.ts'
import type { Setup } from './setup.ts'
import type { Till } from './till.ts'

interface Opening {
  process: Process
  world: World
  setup: Setup
  till: Till
}

/** Opens an account with money, tokens, and a member of each role. */
export async function openAccount({ process, world, setup, till }: Opening, at: number): Promise<Customer> {
  const clock = world.scheduler.clockOf(process.actor)
  const { db } = process
  const accountId = await createAccount(db, clock, { email: `c${at}@example.com`, name: `Customer ${at}` })
  if (!accountId) throw new Error('the account exists already')
  const amount = parseMoney(setup.isPoor ? '300' : '100000')
  await post(db, clock, { accountId, amount, type: 'payment', description: 'first', reference: null })
  if (setup.hasTrial) await giveTrial(db, clock, accountId, at)
  const scopes = ['account:read', 'account:write', 'servers:read', 'servers:write'] as const
  const token = await createToken(db, clock, { accountId, name: 'all', scopes, expiresAt: null })
  const reading = await createToken(db, clock, {
    ...{ accountId, name: 'reader', scopes: ['account:read', 'servers:read'], expiresAt: null },
  })
  const members = await enroll(db, clock, accountId)
  const secrets = [token.value, reading.value, ...members.map(({ secret }) => secret)]
  for (const secret of secrets) world.secrets.add(secret)
  const known: Known = {
    ...{ servers: [], snapshots: [], addresses: [], networks: [], firewalls: [], ports: [] },
    ...{ webhooks: [], tokens: [], projects: [], volumes: [], images: [], isos: [] },
    members: members.map(({ memberId }) => memberId),
  }
  const client = (name: string, credential: Credential) => new Client(world, name, credential)
  return {
    client: client(`c${at}`, bearer(token.value, accountId)),
    reader: client(`r${at}`, bearer(reading.value, accountId)),
    visit: (page, chance) => visit({ world, till }, page, chance),
    members: members.map((member, place) => client(`c${at} (${roles[place]})`, { ...member, accountId })),
    ...{ accountId, known, others: known, template: '', preset: '', recent: setup.isTour ? 1 : 3 },
  }
}

/** Gives an account the credit of a trial; another spelling of its mailbox gets no second one. */
function giveTrial(db: Database, clock: Clock, accountId: string, at: number): Promise<void> {
  const place = { clock, secrets: new Secrets(KEY), trial: { amount: parseMoney('150'), days: 3 + 4 * at } }
  return db.transaction().execute(async (tx) => {
    for (const name of [`c${at}`, `c${at}+again`])
      await grantTrial(tx, place, { accountId, email: `${name}@example.com` })
  })
}

/** Pays on a page, or gives up; the provider notifies the service before, afterwards, several times, or never. */
async function visit(
  { world, till }: Pick<Opening, 'world' | 'till'>,
  page: string,
  chance: Chance,
): Promise<void> {
  const { actor } = world.scheduler
  const wait = (ms: number) => world.scheduler.cross(actor, 'page', ms)
  const times = chance.pick([0, 1, 1, 2, 3]) ?? 1
  const id = page.split('/').at(-1) ?? ''
  const hints = Array.from({ length: times }, () => chance.between(0, 20_000)).map(async (ms) => {
    await wait(ms)
    await hint(world, chance, id)
  })
  await wait(chance.between(0, 10_000))
  till.visit(page, chance)
  await Promise.all(hints)
}

/** Gives the customers the offers of the catalogue. */
export async function findOffer(customers: readonly Customer[], chance: Chance): Promise<void> {
  const { client } = customers[0] as Customer // there are at least two
  const templates = await client.send(chance, 'GET', '/templates')
  const presets = await client.send(chance, 'GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')
  const offer = { template: templates?.body[0].template_id, preset: presets?.body[0].preset_id }
  for (const customer of customers) Object.assign(customer, offer)
}
