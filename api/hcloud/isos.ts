import { Type } from 'typebox'
import type { Iso } from '../snapshots/iso-schema.ts'
import { actionOf, done } from './actions.ts'
import { missing } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import type { Listed } from './lists.ts'
import { type Resource, reading } from './resources.ts'

const kinds = ['iso', 'public_iso'] as const
const kindOf = ({ type }: Iso) => (type === 'public' ? ('public_iso' as const) : ('iso' as const))

/** These clients find the operator's ISOs by their slugs. */
const nameOf = ({ slug, name }: Iso) => slug ?? name

export function isoView(x: Exchange, iso: Iso): Listed {
  const shown = {
    ...{ id: x.ref(kindOf(iso), iso.iso_id), name: nameOf(iso), description: iso.name },
    ...{ type: iso.type, architecture: 'x86' },
    ...{ deprecated: null, deprecation: null },
  }
  return shown
}

/** Lists the ISOs that can be inserted. These clients know no status of an ISO. */
async function available(x: Exchange): Promise<Iso[]> {
  return (await x.all<Iso>('listIsos')).filter(({ status }) => status === 'available')
}

const isos: Resource = {
  ...{ kind: 'iso', kinds, one: 'iso', many: 'isos' },
  all: async (x) => {
    const isX86 = !x.query.has('architecture') || x.query.getAll('architecture').includes('x86')
    return isX86 ? (await available(x)).map((iso) => isoView(x, iso)) : []
  },
  find: async (x, iso_id) => isoView(x, await x.v1<Iso>('getIso', { params: { iso_id } })),
}

/**
 * Finds an ISO by number, or by name: first an operator's, then the oldest of the account.
 * @throws ApiError not_found
 */
async function idOf(x: Exchange, given: string | number): Promise<string> {
  const named = (await available(x)).findLast((iso) => nameOf(iso) === given)
  if (named) return named.iso_id
  if (/^\d+$/.test(String(given))) return (await x.numbered(kinds, 'iso', given)).id
  throw missing('iso', given)
}

/** Changes the drive of the server in the path, which may contain this ISO already. */
async function drive(x: Exchange, command: string, iso_id: string | null): Promise<object> {
  const { server_id } = await x.server()
  const operation = await x.perhapsBegin('updateServer', { params: { server_id }, body: { iso_id } })
  if (operation === null) return done(x, command, ['server', server_id])
  return { action: await actionOf(x, operation) }
}

export const isoRoutes: HcloudRoute[] = [
  ...reading(isos),
  answer({
    method: 'POST',
    path: '/servers/:id/actions/attach_iso',
    body: Type.Object({ iso: Type.Union([Type.String(), Type.Integer()]) }),
    run: async (x, { iso }) => drive(x, 'attach_iso', await idOf(x, iso)),
  }),
  answer({
    method: 'POST',
    path: '/servers/:id/actions/detach_iso',
    run: (x) => drive(x, 'detach_iso', null),
  }),
]
