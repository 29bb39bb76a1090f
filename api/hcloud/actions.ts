import { v7 as uuid } from 'uuid'
import type { Operation } from '../operations/schema.ts'
import { gone, missing } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import { metaOf, pageOf } from './lists.ts'
import type { Kind, Shown } from './numbers.ts'

/** Actions are operations, under the names that these clients know. */
const commands: Readonly<Record<string, string>> = {
  create: 'create_server',
  start: 'start_server',
  stop: 'stop_server',
  reboot: 'reboot_server',
  resize: 'change_server_type',
  rebuild: 'rebuild_server',
  restore: 'rebuild_server',
  rescue: 'enable_rescue',
  unrescue: 'disable_rescue',
  snapshot: 'create_image',
  backup: 'create_image',
  import: 'create_image',
  delete: 'delete_server',
  attach_network: 'attach_to_network',
  detach_network: 'detach_from_network',
  insert_iso: 'attach_iso',
  eject_iso: 'detach_iso',
}

/** The kinds of objects that have actions, by the subject of the operation. */
const subjects: Readonly<Record<string, Kind>> = {
  server: 'server',
  network: 'network',
  volume: 'volume',
  image: 'own_image',
  iso: 'iso',
}

/** The type of a resource in an action, where it differs from the kind. */
const types: Partial<Record<Kind, string>> = { own_image: 'image', snapshot: 'image', backup: 'image' }

type Target = readonly [kind: Kind, id: string]

interface Action {
  id: Shown
  command: string
  status: 'running' | 'success' | 'error'
  progress: number
  started: string
  finished: string | null
  resources: { id: Shown; type: string }[]
  error: { code: string; message: string } | null
}

function resourcesOf(x: Exchange, targets: readonly Target[], addressType = 'floating_ip') {
  return targets.map(([kind, id]) => ({
    id: x.ref(kind, id),
    type: kind === 'address' ? addressType : (types[kind] ?? kind),
  }))
}

export function actionView(x: Exchange, operation: Operation): Action {
  const { operation_id, type, subject_type, subject_id, server_id, status, error } = operation
  const on: Target = [subjects[subject_type] ?? 'server', subject_id]
  const isEnded = status === 'failed' || status === 'canceled'
  return {
    id: x.ref('operation', operation_id),
    command: commands[type] ?? type,
    status: isEnded ? 'error' : status === 'succeeded' ? 'success' : 'running',
    progress: operation.progress,
    started: operation.created_at,
    finished: operation.finished_at,
    resources: resourcesOf(x, server_id && server_id !== subject_id ? [on, ['server', server_id]] : [on]),
    error: isEnded
      ? { code: error?.code ?? 'action_failed', message: error?.message ?? 'The action was canceled.' }
      : null,
  }
}

/**
 * Shows the start of a new server, which is part of its creation in Berth and a separate action for these
 * clients.
 */
export function startView(x: Exchange, operation: Operation): Action {
  const { operation_id } = operation
  return { ...actionView(x, operation), id: x.ref('start', operation_id), command: 'start_server' }
}

/** Returns the action that shows an operation. */
export async function actionOf(x: Exchange, operationId: string): Promise<Action> {
  return actionView(x, await x.operation(operationId))
}

/** Begins an operation through a route of /v1, and returns the reply for it. */
export async function begun(x: Exchange, ...[id, inquiry]: Parameters<Exchange['begin']>) {
  return { action: await actionOf(x, await x.begin(id, inquiry)) }
}

/** Returns the action of a change that completed at once. Clients can read it later, like all actions. */
export function done(x: Exchange, command: string, ...targets: readonly Target[]): { action: Action } {
  const on = [[PROJECT, x.projectId], ...targets].map(([kind, id]) => `${kind}:${id}`).join(' ')
  return { action: doneView(x, `${command} ${uuid()} ${on}`, x.now()) }
}
/** Marks the project of the token among the objects of a change. */
const PROJECT = 'project'

/** @param id the command, an id, the project and the objects of the change */
function doneView(x: Exchange, id: string, at: number): Action {
  const [command = '', , ...on] = id.split(' ')
  const targets = on
    .filter((target) => !target.startsWith(PROJECT))
    .map((target): Target => {
      const [kind = '', objectId = ''] = target.split(':')
      return [kind as Kind, objectId] // as `done` wrote it
    })
  const time = new Date(at).toISOString()
  return {
    ...{ id: x.ref('change', id), command, status: 'success', progress: 100, started: time, finished: time },
    resources: resourcesOf(x, targets),
    error: null,
  }
}

async function numberedAction(x: Exchange, number: string): Promise<Action> {
  const { kind, id, createdAt } = await x.numbered(['operation', 'start', 'change'], 'action', number)
  if (kind === 'change') {
    // A change from before projects were written down belongs to the account.
    if ((/ project:(\S+)/.exec(id)?.[1] ?? x.projectId) !== x.projectId) throw missing('action', number)
    return doneView(x, id, createdAt)
  }
  const operation = await x.ownOperation(id, number)
  return kind === 'start' ? startView(x, operation) : actionView(x, operation)
}

/** The actions that a client waits for, by their numbers. */
async function listNamed(x: Exchange): Promise<object> {
  const numbers = [...new Set(x.query.getAll('id'))]
  if (numbers.length === 0) throw gone('Actions are listed by their ids: /actions?id=1&id=2.')
  const page = pageOf(x)
  const from = (page.page - 1) * page.perPage
  const actions = await Promise.all(
    numbers.slice(from, from + page.perPage).map((one) => numberedAction(x, one)),
  )
  return { actions, meta: metaOf(page, numbers.length) }
}

/** The operations that the token may see, newest first. */
async function operationsOf(x: Exchange, filter: Record<string, string>): Promise<object> {
  const page = pageOf(x)
  const { projectId: project_id } = x
  const query = { ...filter, project_id, limit: page.perPage, offset: (page.page - 1) * page.perPage }
  const { items, total } = await x.v1<{ items: Operation[]; total: number }>('listAccountOperations', {
    query,
  })
  return { actions: items.map((operation) => actionView(x, operation)), meta: metaOf(page, total) }
}

export const actionRoutes: HcloudRoute[] = [
  answer({
    method: 'GET',
    path: '/actions',
    isPoll: true,
    run: listNamed,
  }),
  answer({
    method: 'GET',
    path: '/actions/:id',
    isPoll: true,
    run: async (x) => ({ action: await numberedAction(x, x.param('id')) }),
  }),
]

/** The kinds of objects with actions. */
interface Acted {
  kind: Kind | readonly Kind[]
  one: string
  many: string
  /** @throws ApiError not_found if the token may not see the object */
  find(x: Exchange, id: string): Promise<unknown>
}

/** Lists the actions on all objects of some kinds, or on one object. */
function all(x: Exchange, kinds: readonly Kind[], one: { subject_id?: string } = {}): Promise<object> {
  const [subject_type] = Object.keys(subjects).filter((name) => kinds.some((kind) => subjects[name] === kind))
  if (subject_type) return operationsOf(x, { subject_type, ...one })
  return Promise.resolve({ actions: [], meta: metaOf(pageOf(x), 0) })
}

/** Declares the routes that list and read the actions on objects. */
export function actionsOn({ kind, one, many, find }: Acted): HcloudRoute[] {
  const kinds = [kind].flat()
  return [
    answer({
      method: 'GET',
      path: `/${many}/actions`,
      isPoll: true,
      run: (x) => (x.query.has('id') ? listNamed(x) : all(x, kinds)),
    }),
    answer({
      method: 'GET',
      path: `/${many}/:id/actions`,
      run: async (x) => {
        const numbered = await x.numbered(kinds, one, x.param('id'))
        await find(x, numbered.id)
        return all(x, [numbered.kind], { subject_id: numbered.id })
      },
    }),
    answer({
      method: 'GET',
      path: `/${many}/:id/actions/:action_id`,
      isPoll: true,
      run: async (x) => {
        await x.numbered(kinds, one, x.param('id'))
        return { action: await numberedAction(x, x.param('action_id')) }
      },
    }),
    answer({
      method: 'GET',
      path: `/${many}/actions/:action_id`,
      isPoll: true,
      run: async (x) => ({ action: await numberedAction(x, x.param('action_id')) }),
    }),
  ]
}
