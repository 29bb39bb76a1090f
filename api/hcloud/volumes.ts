import { Type } from 'typebox'
import type { Volume } from '../volumes/schema.ts'
import { actionOf, actionsOn, begun, done } from './actions.ts'
import { unsupported } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import type { Listed } from './lists.ts'
import { type Offers, offersOf } from './offers.ts'
import { changeable, changing, Labels, protection, type Resource, reading, requireFree } from './resources.ts'

function volumeView(x: Exchange, offers: Offers, volume: Volume): Listed {
  const { volume_id, name, size_gb, zone_slug, status, server_id, device, labels, created_at } = volume
  const shown = {
    ...{ id: x.ref('volume', volume_id), name, size: size_gb, created: created_at },
    status: status === 'deleting' ? 'deleting' : 'available',
    server: server_id === null ? null : x.ref('server', server_id),
    location: offers.location(zone_slug),
    ...{ linux_device: device ?? '', format: null, labels, protection: { delete: false } },
  }
  return shown
}

const volumes: Resource = {
  ...{ kind: 'volume', one: 'volume', many: 'volumes' },
  all: async (x) => {
    const offers = await offersOf(x)
    return (await x.own(await x.all<Volume>('listVolumes'))).map((volume) => volumeView(x, offers, volume))
  },
  find: async (x, id) => volumeView(x, await offersOf(x), await volumeOf(x, id)),
  guard: async (x, id) => void (await volumeOf(x, id)),
}

/** @throws ApiError not_found if a server of another project has it */
async function volumeOf(x: Exchange, volume_id: string): Promise<Volume> {
  const volume = await x.v1<Volume>('getVolume', { params: { volume_id } })
  return x.requireOwn(volume, 'volume', x.param('id'))
}

const Named = Type.Union([Type.String(), Type.Integer()])
const Automount = Type.Optional(Type.Boolean())

/** @throws ApiError unsupported_error */
function refuseMounts({ automount, format }: { automount?: boolean; format?: string }): void {
  if (automount || format)
    throw unsupported('Make a file system in the guest and mount it there: leave out automount and format.')
}

/** The volume of the path, to be changed. @throws ApiError not_found */
async function onVolume(x: Exchange): Promise<{ params: { volume_id: string } }> {
  return { params: { volume_id: await changeable(x, volumes) } }
}

export const volumeRoutes: HcloudRoute[] = [
  ...reading(volumes),
  answer({
    method: 'POST',
    path: '/volumes',
    body: Type.Object({
      name: Type.String(),
      size: Type.Integer(),
      location: Type.Optional(Named),
      server: Type.Optional(Type.Integer()),
      automount: Automount,
      format: Type.Optional(Type.String()),
      labels: Labels,
    }),
    run: async (x, { name, size, location, server, labels = {}, ...mounts }) => {
      refuseMounts(mounts)
      await requireFree(x, volumes, name)
      const holder = server ? await x.server(server) : null
      const { zone_slug } = await (await offersOf(x)).zone({ location: holder?.zone_slug ?? location })
      const body = { name, size_gb: size, zone_slug, labels }
      const { volume_id } = await x.v1<Volume>('createVolume', { body })
      const params = { volume_id }
      const attached =
        holder &&
        (await x.orUndo(
          x.begin('attachVolume', { params, body: { server_id: holder.server_id } }),
          'deleteVolume',
          params,
        ))
      return {
        volume: await volumes.find(x, volume_id),
        ...done(x, 'create_volume', ['volume', volume_id]),
        next_actions: attached ? [await actionOf(x, attached)] : [],
      }
    },
  }),
  ...changing(volumes, { param: 'volume_id', update: 'updateVolume', remove: 'deleteVolume' }),
  answer({
    method: 'POST',
    path: '/volumes/:id/actions/attach',
    body: Type.Object({ server: Type.Integer(), automount: Automount }),
    run: async (x, { server, automount = false }) => {
      refuseMounts({ automount })
      const { server_id } = await x.server(server)
      return begun(x, 'attachVolume', { ...(await onVolume(x)), body: { server_id } })
    },
  }),
  answer({
    method: 'POST',
    path: '/volumes/:id/actions/detach',
    run: async (x) => begun(x, 'detachVolume', await onVolume(x)),
  }),
  answer({
    method: 'POST',
    path: '/volumes/:id/actions/resize',
    body: Type.Object({ size: Type.Integer() }),
    run: async (x, { size }) => begun(x, 'updateVolume', { ...(await onVolume(x)), body: { size_gb: size } }),
  }),
  ...protection(volumes),
  ...actionsOn(volumes),
]
