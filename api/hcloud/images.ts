import { Type } from 'typebox'
import type { Image } from '../snapshots/image-schema.ts'
import type { Backup, Snapshot } from '../snapshots/schema.ts'
import { actionsOn, done } from './actions.ts'
import { missing, unsupported } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import { type Listed, listed } from './lists.ts'
import type { Kind, Numbered } from './numbers.ts'
import { type Offers, offersOf } from './offers.ts'
import { Labels } from './resources.ts'

/** The kinds of things that these clients know as images. */
const imageKinds: readonly Kind[] = ['template', 'snapshot', 'backup', 'own_image']

/** The routes of /v1 of each kind of copy, with the parameter of their paths. */
const copies = {
  snapshot: { list: 'listSnapshots', get: 'getSnapshot', remove: 'deleteSnapshot', update: 'updateSnapshot' },
  backup: { list: 'listBackups', get: 'getBackup', remove: 'deleteBackup', update: null },
  own_image: { list: 'listOwnImages', get: 'getImage', remove: 'deleteImage', update: 'updateImage' },
} as const
type CopyKind = keyof typeof copies
const copyKinds = Object.keys(copies) as CopyKind[] // the keys of a constant table

/** The fields that copies of all kinds have. */
type Copy = { status: string } & Pick<Snapshot, 'name' | 'size_gb' | 'template_id' | 'created_at'> &
  Partial<Pick<Snapshot, 'server_id' | 'disk_gb' | 'labels'>> &
  Partial<Pick<Image, 'min_disk_gb' | 'os_family'>>

interface Around {
  offers: Offers
  /** The names of servers, by their ids. */
  names: ReadonlyMap<string, string>
}

function copyView(x: Exchange, { offers, names }: Around, kind: CopyKind, id: string, copy: Copy): Listed {
  const { name, status, size_gb, template_id, server_id, created_at } = copy
  const template = offers.catalogue.templates.find((one) => one.template_id === template_id)
  const server = server_id === undefined ? null : x.ref('server', server_id)
  const type = kind === 'backup' ? 'backup' : 'snapshot'
  const state = status === 'available' ? 'available' : status === 'error' ? 'unavailable' : 'creating'
  const shown = {
    ...{ id: x.ref(kind, id), type, status: state, name: null, description: name, image_size: size_gb },
    ...{ disk_size: copy.disk_gb ?? copy.min_disk_gb ?? 1, created: created_at },
    created_from: server && { id: server, name: names.get(server_id ?? '') ?? '' },
    bound_to: kind === 'backup' ? server : null,
    os_flavor: template?.os_family ?? copy.os_family ?? 'unknown',
    ...{ os_version: null, rapid_deploy: false, protection: { delete: false }, deprecated: null },
    ...{ deleted: null, labels: copy.labels ?? {}, architecture: 'x86' },
  }
  return shown
}

type Copied = (Snapshot | Backup | Image) & { server_id?: string }

const idOf = (copy: Copied): string =>
  'image_id' in copy ? copy.image_id : 'backup_id' in copy ? copy.backup_id : copy.snapshot_id

/** The project's copies of all kinds, by their ids. */
export async function copiesOf(x: Exchange): Promise<Map<string, Listed>> {
  const offers = await offersOf(x)
  const ofKind = copyKinds.map(async (kind) => {
    const all = await x.own(await x.all<Copied>(copies[kind].list))
    const near = { offers, names: await x.names(all) }
    return all.map((copy) => [idOf(copy), copyView(x, near, kind, idOf(copy), copy)] as const)
  })
  return new Map((await Promise.all(ofKind)).flat())
}

async function allImages(x: Exchange): Promise<Listed[]> {
  const offers = await offersOf(x)
  const all = [
    ...offers.catalogue.templates.map((one) => offers.template(one)),
    ...(await copiesOf(x)).values(),
  ]
  const servers = x.query.getAll('bound_to')
  if (servers.length === 0) return all
  await x.settle()
  return all.filter(({ bound_to }) => servers.includes(String(Number(bound_to ?? 0))))
}

/** @throws ApiError not_found if there is none, or the copy is of a server of another project */
async function numberedImage(x: Exchange, given = x.param('id')): Promise<Numbered> {
  const numbered = await x.numbered(imageKinds, 'image', given)
  const { kind, id } = numbered
  if (isCopy(kind)) await x.requireOwn(await copyOf(x, kind, id), 'image', given)
  return numbered
}

function copyOf(x: Exchange, kind: CopyKind, id: string): Promise<Copy> {
  return x.v1<Copy>(copies[kind].get, { params: { [paramOf(kind)]: id } })
}

const isCopy = (kind: Kind): kind is CopyKind => kind in copies

/** The parameter of /v1 that names a copy. */
const paramOf = (kind: CopyKind) => (kind === 'own_image' ? 'image_id' : `${kind}_id`)

/** One image, to be shown. @throws ApiError not_found */
export async function imageView(x: Exchange, { kind, id }: Pick<Numbered, 'kind' | 'id'>): Promise<Listed> {
  const offers = await offersOf(x)
  const template = offers.catalogue.templates.find(({ template_id }) => template_id === id)
  if (template) return offers.template(template)
  if (!isCopy(kind)) throw missing('image', x.param('id'))
  const copy = await copyOf(x, kind, id)
  return copyView(x, { offers, names: await x.names([copy]) }, kind, id, copy)
}

/**
 * Returns the field of an order for the image that a request names by number or name.
 * @throws ApiError not_found
 */
export async function sourceOf(x: Exchange, given: string | number): Promise<Record<string, string>> {
  const offers = await offersOf(x)
  if (offers.catalogue.templates.some(({ slug }) => slug === given)) return { template: String(given) }
  const { kind, id } = await numberedImage(x, String(given))
  if (kind === 'template') return { template_id: id }
  // Orders name a backup in the field of snapshots.
  return kind === 'own_image' ? { image_id: id } : { snapshot_id: id }
}

/** @throws ApiError unsupported_error for a template, which belongs to the installation */
async function ownCopy(x: Exchange): Promise<{ kind: CopyKind; params: Record<string, string> }> {
  const { kind, id } = await numberedImage(x)
  if (!isCopy(kind)) throw unsupported('This image belongs to the installation and cannot be changed.')
  return { kind, params: { [paramOf(kind)]: id } }
}

export const imageRoutes: HcloudRoute[] = [
  answer({
    method: 'GET',
    path: '/images',
    run: async (x) => {
      const isX86 = !x.query.has('architecture') || x.query.getAll('architecture').includes('x86')
      return listed(x, 'images', isX86 ? await allImages(x) : [])
    },
  }),
  answer({
    method: 'GET',
    path: '/images/:id',
    run: async (x) => ({ image: await imageView(x, await numberedImage(x)) }),
  }),
  answer({
    method: 'PUT',
    path: '/images/:id',
    body: Type.Object({
      description: Type.Optional(Type.String()),
      type: Type.Optional(Type.String()),
      labels: Labels,
    }),
    run: async (x, { description, type, labels }) => {
      const { kind, params } = await ownCopy(x)
      const { update } = copies[kind]
      if (update === null || (type !== undefined && type !== 'snapshot'))
        throw unsupported('Only the description and the labels of a snapshot can be changed.')
      const body = { ...(description ? { name: description } : {}), ...(labels ? { labels } : {}) }
      if (Object.keys(body).length > 0) await x.v1(update, { params, body })
      return { image: await imageView(x, await numberedImage(x)) }
    },
  }),
  answer({
    method: 'POST',
    path: '/images/:id/actions/change_protection',
    body: Type.Object({ delete: Type.Optional(Type.Boolean()) }),
    run: async (x, { delete: isKept }) => {
      const { kind, id } = await numberedImage(x)
      if (isKept) throw unsupported('Only servers can be protected from deletion here.')
      return done(x, 'change_protection', [kind, id])
    },
  }),
  answer({
    method: 'DELETE',
    path: '/images/:id',
    run: async (x) => {
      const { kind, params } = await ownCopy(x)
      await x.v1(copies[kind].remove, { params })
      await x.end(x.param('id'))
      return undefined
    },
  }),
  ...actionsOn({ kind: imageKinds, one: 'image', many: 'images', find: (x) => numberedImage(x) }),
]
