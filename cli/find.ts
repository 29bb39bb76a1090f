import type { Berth } from '@berth/sdk'
import { allOf } from './all.ts'
import { exitCodes, Refusal } from './errors.ts'

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** How objects are found by name. Completion offers the names from the same table. */
interface Kind<Item> {
  /** All of them; with a name, at least those with that name. */
  all(berth: Berth, name?: string): Promise<Item[]> | AsyncIterable<Item>
  id(item: Item): string
  name(item: Item): string
  /** The command that lists them. */
  listedBy: string
}

const kind = <Item>(kind: Kind<Item>) => kind

/** By the placeholder in a command's arguments: `<server>`, `<ssh-key>`. */
export const kinds = {
  server: kind({
    // Accounts can have thousands.
    all: (berth, name) =>
      name !== undefined && UUID.test(name)
        ? berth.servers.get(name).then((server) => [server])
        : berth.servers.listAll({ name }),
    id: ({ server_id }) => server_id,
    name: ({ name }) => name,
    listedBy: 'berth server list',
  }),
  address: kind({
    all: (berth) => berth.addresses.listAll(),
    id: ({ address_id }) => address_id,
    name: ({ address }) => address,
    listedBy: 'berth address list',
  }),
  project: kind({
    all: (berth) => berth.projects.listAll(),
    id: ({ project_id }) => project_id,
    name: ({ name }) => name,
    listedBy: 'berth project list',
  }),
  'ssh-key': kind({
    all: (berth) => berth.sshKeys.listAll(),
    id: ({ ssh_key_id }) => ssh_key_id,
    name: ({ name }) => name,
    listedBy: 'berth ssh-key list',
  }),
  firewall: kind({
    all: (berth) => berth.firewalls.listAll(),
    id: ({ firewall_id }) => firewall_id,
    name: ({ name }) => name,
    listedBy: 'berth firewall list',
  }),
  template: kind({
    all: (berth) => berth.templates.list(),
    id: ({ template_id }) => template_id,
    name: ({ slug }) => slug,
    listedBy: 'berth template list',
  }),
  zone: kind({
    all: (berth) => berth.zones.list(),
    id: ({ zone_slug }) => zone_slug,
    name: ({ zone_slug }) => zone_slug,
    listedBy: 'berth zone list',
  }),
  token: kind({
    all: (berth) => berth.tokens.listAll(),
    id: ({ token_id }) => token_id,
    name: ({ name }) => name,
    listedBy: 'berth token list',
  }),
  network: kind({
    all: (berth) => berth.networks.listAll(),
    id: ({ network_id }) => network_id,
    name: ({ name }) => name,
    listedBy: 'berth network list',
  }),
  member: kind({
    all: (berth) => berth.members.listAll(),
    id: ({ member_id }) => member_id,
    name: ({ email }) => email,
    listedBy: 'berth member list',
  }),
  invitation: kind({
    all: (berth) => berth.invitations.listAll(),
    id: ({ invitation_id }) => invitation_id,
    name: ({ email }) => email,
    listedBy: 'berth invitation list',
  }),
  webhook: kind({
    all: (berth) => berth.webhooks.listAll(),
    id: ({ webhook_id }) => webhook_id,
    name: ({ name }) => name,
    listedBy: 'berth webhook list',
  }),
}

export type Noun = keyof typeof kinds

/** As written in a sentence. */
export const titleOf = (noun: Noun) => noun.replace('ssh-key', 'SSH key')

type ItemOf<Known extends Noun> = (typeof kinds)[Known] extends Kind<infer Item> ? Item : never

/** The object with a name or id. @throws Refusal if there is none, or several, whose ids are listed */
export async function find<Known extends Noun>(
  berth: Berth,
  noun: Known,
  given: string,
): Promise<ItemOf<Known>> {
  // The entry belongs to this noun, which TypeScript can't infer across all entries.
  const { all, id, name, listedBy } = kinds[noun] as unknown as Kind<ItemOf<Known>>
  const items = await allOf(await all(berth, given))
  const found = pick(items, given, { id, name })
  const [only] = found
  if (only !== undefined && found.length === 1) return only
  if (found.length === 0)
    throw new Refusal(
      `No such ${titleOf(noun)}: ${given}.`,
      `List them with: ${listedBy}`,
      exitCodes.notFound,
    )
  throw new Refusal(
    `${found.length} ${titleOf(noun)}s are named ${given}: ${found.map(id).join(', ')}.`,
    'Use the id instead.',
  )
}

/** The id of the object with a name or id. An id is not looked up, so that it may belong to a deleted object. */
export async function idOf(berth: Berth, noun: Noun, given: string): Promise<string> {
  if (UUID.test(given)) return given
  // Whatever the noun, find returns its own items.
  const { id } = kinds[noun] as unknown as Kind<unknown>
  return id(await find(berth, noun, given))
}

/** Ids win over names: an object can't be hidden by naming another one after its id. */
function pick<Item>(items: Item[], given: string, { id, name }: Pick<Kind<Item>, 'id' | 'name'>): Item[] {
  const byId = items.filter((item) => id(item) === given.toLowerCase())
  return byId.length > 0 ? byId : items.filter((item) => name(item) === given)
}
