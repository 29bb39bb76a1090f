import type { Berth } from '@berth/sdk'
import { allOf } from './all.ts'
import { exitCodes, Refusal } from './errors.ts'

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** A resource whose objects are found by name. `program.ts` lists the kinds for completion. */
export interface Kind<Item> {
  /** As in the commands and in the placeholders of arguments: `ssh-key` for `<ssh-key>`. */
  noun: string
  /** Lists all objects; given a name, at least those with that name. */
  all(berth: Berth, name?: string): Promise<Item[]> | AsyncIterable<Item>
  id(item: Item): string
  name(item: Item): string
}

/** A kind as completion knows it. */
export interface Named {
  noun: string
  names(berth: Berth): AsyncIterable<string>
}

export const kind = <Item>(kind: Kind<Item>): Kind<Item> & Named => ({
  ...kind,
  async *names(berth) {
    for await (const item of await kind.all(berth)) yield kind.name(item)
  },
})

/** The noun as written in a sentence. */
export const titleOf = ({ noun }: { noun: string }) =>
  noun.replace('ssh-key', 'SSH key').replace('payment-method', 'payment method')

/** The object with a name or id. @throws Refusal if there is none, or several, whose ids are listed */
export async function find<Item>(berth: Berth, kind: Kind<Item>, given: string): Promise<Item> {
  const items = await allOf(await kind.all(berth, given))
  const found = pick(items, given, kind)
  const [only] = found
  if (only !== undefined && found.length === 1) return only
  if (found.length === 0)
    throw new Refusal(
      `No such ${titleOf(kind)}: ${given}.`,
      `List them with: berth ${kind.noun} list`,
      exitCodes.notFound,
    )
  throw new Refusal(
    `${found.length} ${titleOf(kind)}s are named ${given}: ${found.map(kind.id).join(', ')}.`,
    'Use the id instead.',
  )
}

/** The id of the object with a name or id. An id is not looked up, so that it may belong to a deleted object. */
export async function idOf<Item>(berth: Berth, kind: Kind<Item>, given: string): Promise<string> {
  return UUID.test(given) ? given : kind.id(await find(berth, kind, given))
}

/** Ids win over names: an object can't be hidden by naming another one after its id. */
function pick<Item>(items: Item[], given: string, { id, name }: Pick<Kind<Item>, 'id' | 'name'>): Item[] {
  const byId = items.filter((item) => id(item) === given.toLowerCase())
  return byId.length > 0 ? byId : items.filter((item) => name(item) === given)
}
