import type { Berth } from '@berth/sdk'
import { exitCodes, Refusal } from './errors.ts'

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** How things of a kind are found by what people call them. Completion offers the names of the same table. */
interface Kind<Item> {
  /** All of them; where a name is given, at least those of that name. */
  all(berth: Berth, name?: string): Promise<Item[]> | AsyncIterable<Item>
  id(item: Item): string
  name(item: Item): string
  /** Where one sees those that there are. */
  seen: string
}

const kind = <Item>(kind: Kind<Item>) => kind

/** By the word that stands for one in a command's arguments: `<server>`, `<ssh-key>`. */
export const kinds = {
  server: kind({
    // Accounts can have thousands.
    all: (berth, name) =>
      name !== undefined && UUID.test(name)
        ? berth.servers.get(name).then((server) => [server])
        : berth.servers.listAll({ name }),
    id: ({ server_id }) => server_id,
    name: ({ name }) => name,
    seen: 'berth server list',
  }),
  project: kind({
    all: (berth) => berth.projects.listAll(),
    id: ({ project_id }) => project_id,
    name: ({ name }) => name,
    seen: 'berth project list',
  }),
  'ssh-key': kind({
    all: (berth) => berth.sshKeys.listAll(),
    id: ({ ssh_key_id }) => ssh_key_id,
    name: ({ name }) => name,
    seen: 'berth ssh-key list',
  }),
  template: kind({
    all: (berth) => berth.templates.list(),
    id: ({ template_id }) => template_id,
    name: ({ slug }) => slug,
    seen: 'berth template list',
  }),
  zone: kind({
    all: (berth) => berth.zones.list(),
    id: ({ zone_slug }) => zone_slug,
    name: ({ zone_slug }) => zone_slug,
    seen: 'berth zone list',
  }),
  token: kind({
    all: (berth) => berth.tokens.listAll(),
    id: ({ token_id }) => token_id,
    name: ({ name }) => name,
    seen: 'berth token list',
  }),
  webhook: kind({
    all: (berth) => berth.webhooks.listAll(),
    id: ({ webhook_id }) => webhook_id,
    name: ({ name }) => name,
    seen: 'berth webhook list',
  }),
}

/** The words of the table. */
export type Noun = keyof typeof kinds

type ItemOf<Known extends Noun> = (typeof kinds)[Known] extends Kind<infer Item> ? Item : never

/** The one that is meant by a name or an id. @throws Refusal where there is none, or several: which are listed */
export async function find<Known extends Noun>(
  berth: Berth,
  noun: Known,
  given: string,
): Promise<ItemOf<Known>> {
  // The table's entry is of the noun that was asked for; of all entries at once TypeScript can't tell.
  const { all, id, name, seen } = kinds[noun] as unknown as Kind<ItemOf<Known>>
  const items = await Array.fromAsync(await all(berth, given))
  const found = pick(items, given, { id, name })
  const [only] = found
  if (only !== undefined && found.length === 1) return only
  if (found.length === 0)
    throw new Refusal(
      `There is no ${noun.replace('-', ' ')} ${given}.`,
      `See those that are with: ${seen}`,
      exitCodes.notFound,
    )
  throw new Refusal(
    `${found.length} have the name ${given}: ${found.map(id).join(', ')}.`,
    'Say which by its id.',
  )
}

/** The id of the one that is meant; one that is given is not looked at, so that it may be of something that is gone. */
export async function idOf(berth: Berth, noun: Noun, given: string): Promise<string> {
  if (UUID.test(given)) return given
  // Of whatever noun: its own items are what find returns.
  const { id } = kinds[noun] as unknown as Kind<unknown>
  return id(await find(berth, noun, given))
}

/** Ids win over names: nobody can hide a thing by naming another after its id. */
function pick<Item>(items: Item[], given: string, { id, name }: Pick<Kind<Item>, 'id' | 'name'>): Item[] {
  const byId = items.filter((item) => id(item) === given.toLowerCase())
  return byId.length > 0 ? byId : items.filter((item) => name(item) === given)
}
