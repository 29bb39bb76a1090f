import { type Static, type TObject, Type } from 'typebox'
import { ApiError } from '../http/contract/problem.ts'
import type { Server } from '../servers/schema.ts'
import type { Snapshot } from '../snapshots/schema.ts'
import { actionOf, begun, done } from './actions.ts'
import { unsupported } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import { imageView, sourceOf } from './images.ts'
import { Labels, refusing } from './resources.ts'
import { passwordOf, presetOf } from './servers.ts'
import { keyIds } from './ssh-keys.ts'

/** The time that a reply waits for a password, which exists once the operation has ended. */
const PASSWORD_SECONDS = 30
const Named = Type.Union([Type.String(), Type.Integer()])
const Nothing = Type.Object({})
const UserData = Type.Optional(Type.String())

/** Declares an action on a server of the project. */
function action<Body extends TObject>(
  name: string,
  body: Body,
  run: (x: Exchange, server: Server, body: Static<Body>) => Promise<object>,
): HcloudRoute {
  const path = `/servers/:id/actions/${name}`
  return answer({ method: 'POST', path, body, run: async (x, given) => run(x, await x.server(), given) })
}

const of = ({ server_id }: Server) => ({ params: { server_id } })

/** The actions that turn a server on or off, with the route and the body of /v1. */
const power = {
  poweron: ['startServer', {}],
  poweroff: ['stopServer', { force: true }],
  shutdown: ['stopServer', {}],
  reboot: ['rebootServer', {}],
  reset: ['rebootServer', { force: true }],
} as const

/** Replies once an operation that sets a password has ended, or after a while without it. */
async function withPassword(x: Exchange, { server_id }: Server, operationId: string): Promise<object> {
  const params = { operation_id: operationId }
  // The operation has begun, so a refusal to wait for it must not hide it.
  const wait = x.v1('getAccountOperation', { params, query: { wait: PASSWORD_SECONDS } })
  await wait.catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.type.status !== 429) throw error
  })
  return { action: await actionOf(x, operationId), root_password: await passwordOf(x, server_id) }
}

/** Changes a server at once. */
async function change(x: Exchange, server: Server, command: string, body: object): Promise<object> {
  await x.v1('updateServer', { ...of(server), body })
  return done(x, command, ['server', server.server_id])
}

const serverPaths = Object.entries(power).map(([name, [id, body]]) =>
  action(name, Nothing, (x, server) => begun(x, id, { ...of(server), body: { ...body } })),
)

const disk = [
  action(
    'rebuild',
    Type.Object({ image: Named, user_data: UserData }),
    async (x, server, { image, user_data }) => {
      const { ssh_key_ids } = server
      const body = { ...(await sourceOf(x, image)), ssh_key_ids, ...(user_data ? { user_data } : {}) }
      const begins = await begun(x, 'rebuildServer', { ...of(server), body })
      return {
        ...begins,
        root_password: ssh_key_ids.length > 0 ? null : await passwordOf(x, server.server_id),
      }
    },
  ),
  action(
    'change_type',
    Type.Object({ server_type: Named, upgrade_disk: Type.Optional(Type.Boolean()) }),
    async (x, server, { server_type }) => {
      const body = { plan_type: 'preset', ...(await presetOf(x, server_type)) }
      return begun(x, 'updateServer', { ...of(server), body })
    },
  ),
  action(
    'create_image',
    Type.Object({
      description: Type.Optional(Type.String()),
      type: Type.Optional(Type.String()),
      labels: Labels,
    }),
    async (x, server, { description, type = 'snapshot', labels = {} }) => {
      if (type !== 'snapshot')
        throw unsupported('Backups are made every day. Create an image of the type snapshot.')
      const name = description ? { name: description } : {}
      const body = { server_id: server.server_id, labels, ...name }
      const { snapshot_id, operation_id } = await x.v1<Snapshot>('createSnapshot', { body })
      const image = await imageView(x, { kind: 'snapshot', id: snapshot_id })
      return { image, action: await actionOf(x, operation_id ?? '') }
    },
  ),
]

const access = [
  action('reset_password', Nothing, async (x, server) =>
    withPassword(x, server, await x.begin('resetServerPassword', of(server))),
  ),
  action(
    'enable_rescue',
    Type.Object({
      type: Type.Optional(Type.String()),
      ssh_keys: Type.Optional(Type.Array(Named, { maxItems: 50 })),
    }),
    async (x, server, { ssh_keys = [] }) => {
      const ssh_key_ids = await keyIds(x, ssh_keys)
      const operation = await x.begin('rescueServer', { ...of(server), body: { ssh_key_ids } })
      if (ssh_key_ids.length === 0) return withPassword(x, server, operation)
      return { action: await actionOf(x, operation), root_password: null }
    },
  ),
  action('disable_rescue', Nothing, (x, server) => begun(x, 'unrescueServer', of(server))),
]

const settings = [
  action('enable_backup', Type.Object({ backup_window: Type.Optional(Type.String()) }), (x, server) =>
    change(x, server, 'enable_backup', { backups_enabled: true }),
  ),
  action('disable_backup', Nothing, (x, server) =>
    change(x, server, 'disable_backup', { backups_enabled: false }),
  ),
  action(
    'change_protection',
    Type.Object({ delete: Type.Optional(Type.Boolean()), rebuild: Type.Optional(Type.Boolean()) }),
    async (x, server, { delete: isKept = server.delete_protection, rebuild = isKept }) => {
      if (rebuild !== isKept)
        throw unsupported('A server is protected from both deletion and rebuild, or neither.')
      return change(x, server, 'change_protection', { delete_protection: isKept })
    },
  ),
]

/** The actions that Berth lacks, each with the reason. */
const refused = {
  change_alias_ips: 'A server has one address in a network.',
  add_to_placement_group: 'Placement groups are not offered here.',
  remove_from_placement_group: 'Placement groups are not offered here.',
  request_console: 'The console of a server is serial: berth server console.',
} as const

const refusals = refusing('servers', refused)

export const serverActionRoutes: HcloudRoute[] = [
  ...serverPaths,
  ...disk,
  ...access,
  ...settings,
  ...refusals,
]
