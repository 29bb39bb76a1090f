import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route, type SetHeader } from '../http/contract/route.ts'
import { findOperation } from '../operations/operations.ts'
import { type OperationSchemas, operationProblems } from '../operations/schema.ts'
import type { OperationTable } from '../operations/tables.ts'
import { operationView } from '../operations/view.ts'
import { attachVolume, detachVolume, type VolumeAttachmentsOptions } from './attachments.ts'
import { plans, VOLUME_SUBJECT, type VolumeOperation, volumeSubject } from './operations.ts'
import { Volume, VolumeAttach, VolumeCreate, VolumeQuery, VolumeUpdate, volumeProblems } from './schema.ts'
import { findVolume, listVolumes } from './store.ts'
import type { VolumeTable } from './tables.ts'
import { volumeView } from './view.ts'
import { changeVolume, createVolume, deleteVolume, volumeLoader, volumeQuotas } from './volumes.ts'

const tag = 'Volumes'
const path = '/volumes'

export interface VolumeRoutesOptions extends VolumeAttachmentsOptions {
  operationSchemas: OperationSchemas
}

/** Errors of a request for disk space. */
const ORDER_ERRORS = [
  catalogProblems.capacity_unavailable,
  accountProblems.quota_exceeded,
  billingProblems.insufficient_balance,
]
const [, gigabytes] = volumeQuotas
const orderProblems = gigabytes ? { quota_exceeded: atLimit(gigabytes) } : {}

export function volumeRoutes(options: VolumeRoutesOptions): Route[] {
  return [...collectionRoutes(options), ...objectRoutes(options), ...attachmentRoutes(options)]
}

function collectionRoutes(options: VolumeRoutesOptions): Route[] {
  const { db } = options
  const created = (row: VolumeTable, setHeader: SetHeader) => {
    setHeader('location', `/v1/volumes/${row.volume_id}`)
    return volumeView(row)
  }
  return [
    route({
      id: 'listVolumes',
      method: 'GET',
      path,
      scope: 'servers:read',
      tag,
      summary: 'List volumes',
      description:
        'Returns the volumes of the account, newest first. `server_id` selects the volumes of one server.',
      query: VolumeQuery,
      reply: { 200: listOf(Volume) },
      run: (call) =>
        paged(call, (page) => listVolumes(db, call.actor.accountId, call.query, page), volumeView),
    }),
    route({
      id: 'createVolume',
      method: 'POST',
      path,
      scope: 'servers:write',
      tag,
      summary: 'Create a volume',
      description:
        'The volume is empty, and billed by the hour for its size, attached or not, until you delete it. Attach it to a server, and make a file system on it there; a container finds one.',
      body: VolumeCreate,
      reply: { 201: Volume },
      problems: { ...orderProblems, not_supported: { feature: 'volumes' } },
      errors: [catalogProblems.not_supported, volumeProblems.volume_not_found, ...ORDER_ERRORS],
      run: async ({ actor, body, remember, setHeader }) =>
        created(await createVolume(options, actor, body, remember), setHeader),
      recover: async ({ actor, setHeader }, volumeId) =>
        created(
          found(await findVolume(db, actor.accountId, volumeId), volumeProblems.volume_not_found),
          setHeader,
        ),
    }),
  ]
}

/** The object that the path of a volume names. */
function objectOf(options: VolumeRoutesOptions) {
  return {
    path: `${path}/:volume_id`,
    tag,
    params: { volume_id: volumeProblems.volume_not_found },
    load: volumeLoader(options),
  }
}

function objectRoutes(options: VolumeRoutesOptions): Route[] {
  const object = objectOf(options)
  const { Operation } = options.operationSchemas
  return [
    route({
      id: 'getVolume',
      method: 'GET',
      ...object,
      scope: 'servers:read',
      summary: 'Get a volume',
      description:
        'Returns the volume with its server, and the path at which the guest finds it. A deleted volume returns 404.',
      reply: { 200: Volume },
      run: async ({ loaded }) => volumeView(loaded),
    }),
    route({
      id: 'updateVolume',
      method: 'PATCH',
      ...object,
      scope: 'servers:write',
      summary: 'Rename a volume, or grow it',
      description:
        'A new name returns the volume at once: 200. A larger `size_gb` is an operation to wait for: 202, also while a server uses the volume; grow the file system in a virtual machine afterwards. The new price applies from the request on.',
      body: VolumeUpdate,
      reply: { 200: Volume, 202: Operation },
      examples: { 202: accepting('resize_volume') },
      problems: orderProblems,
      errors: [operationProblems.operation_in_progress, ...ORDER_ERRORS],
      run: async ({ loaded, body, setHeader, setStatus }) => {
        const { volume, operation } = await changeVolume(options, loaded, body)
        if (!operation) return volumeView(volume)
        setStatus(202)
        return accepted(operation, setHeader)
      },
    }),
    route({
      id: 'deleteVolume',
      method: 'DELETE',
      ...object,
      scope: 'servers:write',
      summary: 'Delete a volume',
      description:
        'All data on the volume is lost, and its billing ends at once. The deletion does not fail: it is tried until nothing is left. A volume that a server has returns 409: detach it first.',
      reply: { 202: Operation },
      examples: { 202: accepting('delete_volume') },
      errors: [operationProblems.operation_in_progress, volumeProblems.volume_in_use],
      run: async ({ loaded, setHeader }) => accepted(await deleteVolume(options, loaded), setHeader),
    }),
  ]
}

function attachmentRoutes(options: VolumeRoutesOptions): Route[] {
  const { path: one, ...object } = objectOf(options)
  const { Operation } = options.operationSchemas
  const before = acceptedBefore(options)
  return [
    route({
      id: 'attachVolume',
      method: 'POST',
      ...object,
      path: `${one}/attach`,
      scope: 'servers:write',
      summary: 'Attach a volume to a server',
      description:
        'A running server finds the volume at `device` within seconds, without a restart; a stopped one when it starts. A volume has one server of its zone, and a server up to 16 volumes.',
      body: VolumeAttach,
      reply: { 202: Operation },
      examples: { 202: accepting('attach_volume') },
      problems: { not_supported: { feature: 'volumes' } },
      errors: [
        catalogProblems.not_supported,
        operationProblems.operation_in_progress,
        volumeProblems.volume_in_use,
      ],
      run: async ({ loaded, body, remember, setHeader }) =>
        accepted(await attachVolume(options, loaded, body.server_id, remember), setHeader),
      recover: before,
    }),
    route({
      id: 'detachVolume',
      method: 'POST',
      ...object,
      path: `${one}/detach`,
      scope: 'servers:write',
      summary: 'Detach a volume from its server',
      description:
        'Unmount its file systems in the guest first: the volume is taken away even if the guest uses it, and what it has not written yet is lost. A container gives a volume back only while it is off: else the operation fails with `not_supported`. The data stays on the volume.',
      reply: { 202: Operation },
      examples: { 202: accepting('detach_volume') },
      errors: [operationProblems.operation_in_progress, volumeProblems.volume_detached],
      run: async ({ loaded, remember, setHeader }) =>
        accepted(await detachVolume(options, loaded, remember), setHeader),
      recover: before,
    }),
  ]
}

/** The example of an operation that has just been accepted. */
function accepting(type: VolumeOperation) {
  const waiting = { status: 'pending', progress: 0, started_at: null, finished_at: null }
  return { type, step: plans[type].step, subject_type: VOLUME_SUBJECT, ...waiting }
}

function accepted(operation: OperationTable, setHeader: SetHeader) {
  setHeader('location', `/v1/operations/${operation.operation_id}`)
  return operationView(operation)
}

/** Replies to a repeated request with the operation that the first one began. */
function acceptedBefore({ db, clock }: VolumeRoutesOptions) {
  return async (
    { loaded, setHeader }: { loaded: VolumeTable; setHeader: SetHeader },
    operationId: string,
  ) => {
    const subject = volumeSubject(loaded.volume_id)
    const operation = await findOperation(db, loaded.account_id, operationId, clock.now(), subject)
    return accepted(found(operation, volumeProblems.volume_not_found), setHeader)
  }
}
