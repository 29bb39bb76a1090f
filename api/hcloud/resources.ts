import { Type } from 'typebox'
import { done } from './actions.ts'
import { isGone, taken, unsupported } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import { type Listed, listed } from './lists.ts'
import type { Kind } from './numbers.ts'

/** A kind of object that can be listed and read. */
export interface Resource {
  kind: Kind
  /** The kinds of its numbers (default: `kind` alone). */
  kinds?: readonly Kind[]
  /** The singular in replies, and the plural, which is also the path. */
  one: string
  many: string
  all(x: Exchange): Promise<Listed[]>
  find(x: Exchange, id: string): Promise<Listed>
  /** Refuses to change an object that servers of other projects use. */
  guard?(x: Exchange, id: string): Promise<void>
}

/** Returns the id of the object in the path, if it may be changed. @throws ApiError not_found, forbidden */
export async function changeable(
  x: Exchange,
  { kind, guard }: Pick<Resource, 'kind' | 'guard'>,
): Promise<string> {
  const id = await x.idOf(kind, x.param('id'))
  await guard?.(x, id)
  return id
}

/** The routes of /v1 that change a kind of object. */
interface Changes {
  /** The parameter of their paths. */
  param: string
  update: string
  /** False if these objects have no names: a name in a request is then accepted and ignored. */
  isRenamed?: boolean
  remove: string
}

export const Labels = Type.Optional(Type.Record(Type.String(), Type.String()))

/** Declares the routes that list and read a kind of object. */
export function reading({ kind, kinds = [kind], one, many, all, find }: Resource): HcloudRoute[] {
  return [
    answer({ method: 'GET', path: `/${many}`, run: async (x) => listed(x, many, await all(x)) }),
    answer({
      method: 'GET',
      path: `/${many}/:id`,
      run: async (x) => {
        const { id } = await x.numbered(kinds, kind, x.param('id'))
        return { [one]: await find(x, id).catch((error: unknown) => noteEnd(x, error)) }
      },
    }),
  ]
}

/** Declares the routes that change the name and labels of a kind of object, and delete it. */
export function changing(
  resource: Resource,
  { param, update, isRenamed = true, remove }: Changes,
): HcloudRoute[] {
  const { one, many, find } = resource
  return [
    answer({
      method: 'PUT',
      path: `/${many}/:id`,
      body: Type.Object({
        name: Type.Optional(Type.String()),
        labels: Labels,
        description: Type.Optional(Type.String()),
        auto_delete: Type.Optional(Type.Literal(false)),
        expose_routes_to_vswitch: Type.Optional(Type.Literal(false)),
      }),
      run: async (x, { name = '', labels }) => {
        const id = await changeable(x, resource)
        const isNamed = isRenamed && name !== ''
        if (isNamed) await requireFree(x, resource, name, Number(x.param('id')))
        const body = { ...(isNamed ? { name } : {}), ...(labels ? { labels } : {}) }
        if (Object.keys(body).length > 0) await x.v1(update, { params: { [param]: id }, body })
        return { [one]: await find(x, id) }
      },
    }),
    answer({
      method: 'DELETE',
      path: `/${many}/:id`,
      run: async (x) => {
        await x.v1(remove, { params: { [param]: await changeable(x, resource) } })
        await x.end(x.param('id'))
        return undefined
      },
    }),
  ]
}

/** Declares the route by which these clients protect an object; in Berth only servers have protection. */
export function protection(resource: Resource): HcloudRoute[] {
  const { kind, many } = resource
  return [
    answer({
      method: 'POST',
      path: `/${many}/:id/actions/change_protection`,
      // hcloud-go 1.35 mistakenly repeats the number of a primary IP.
      body: Type.Object({ delete: Type.Optional(Type.Boolean()), ID: Type.Optional(Type.Integer()) }),
      run: async (x, { delete: isKept }) => {
        const id = await changeable(x, resource)
        if (isKept) throw unsupported('Only servers can be protected from deletion here.')
        return done(x, 'change_protection', [kind, id])
      },
    }),
  ]
}

/**
 * Declares routes that refuse the actions that Berth lacks.
 * @param reasons what to do instead, by the name of the action
 */
export function refusing(many: string, reasons: Readonly<Record<string, string>>): HcloudRoute[] {
  return Object.entries(reasons).map(([name, reason]) =>
    answer({
      method: 'POST',
      path: `/${many}/:id/actions/${name}`,
      run: () => Promise.reject(unsupported(reason)),
    }),
  )
}

/** Notes that an object is gone, so that its number is forgotten later. @throws the error */
async function noteEnd(x: Exchange, error: unknown): Promise<never> {
  if (isGone(error)) await x.end(x.param('id'))
  throw error
}

/**
 * Refuses a name that another object has: these tools find objects by name.
 * @param number of the object that may have the name
 * @throws ApiError uniqueness_error
 */
export async function requireFree(
  x: Exchange,
  { one, all }: Resource,
  name: string,
  number = 0,
): Promise<void> {
  const named = (await all(x)).filter((other) => other.name === name)
  await x.settle()
  if (named.some(({ id }) => Number(id) !== number)) throw taken(one, name)
}
