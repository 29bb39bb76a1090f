import { v7 as uuid } from 'uuid'
import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import { findIso } from '../catalog/file.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Actor } from '../http/contract/auth.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import { type Route, route, type SetHeader } from '../http/contract/route.ts'
import { OPERATION } from '../operations/schema.ts'
import { createFromFile, importUpload, receivePart } from './image-files.ts'
import { ImageImport, imageProblems, PART_BYTES } from './image-schema.ts'
import type { ImagesOptions } from './images.ts'
import { Iso, IsoCreate, IsoQuery, IsoUpdate, isoProblems } from './iso-schema.ts'
import { deleteIso, isoQuota, listIsos } from './isos.ts'
import { findSnapshot, updateSnapshot } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'
import { isoView, offeredIsoView } from './view.ts'

const tag = 'ISOs'
const path = '/isos'

export function isoRoutes(options: ImagesOptions): Route[] {
  return [listRoute(options), createRoute(options), ...uploadRoutes(options), ...objectRoutes(options)]
}

/** A reply that leads to the ISO. */
function shown(row: SnapshotTable, setHeader: SetHeader) {
  setHeader('location', `/v1/isos/${row.snapshot_id}`)
  return isoView(row)
}

/** Finds an ISO of the account itself. @throws ApiError iso_not_found, iso_is_public */
async function findOwn(
  { db, catalog }: ImagesOptions,
  { accountId }: Actor,
  isoId: string,
): Promise<SnapshotTable> {
  if (findIso(catalog, isoId))
    throw new ApiError(
      isoProblems.iso_is_public,
      'The operator offers this ISO to everybody: put it into a drive, but do not change it.',
    )
  return found(await findSnapshot(db, accountId, isoId, 'iso'), isoProblems.iso_not_found)
}

function listRoute(options: ImagesOptions): Route {
  return route({
    id: 'listIsos',
    method: 'GET',
    path,
    scope: 'servers:read',
    tag,
    summary: 'List ISOs',
    description:
      'Returns the ISO images of the account, newest first, and then the `public` ones that the operator offers to everybody. Each can be put into the drives of servers of its zone, a `public` one into those of every zone with `isos`.',
    query: IsoQuery,
    reply: { 200: listOf(Iso) },
    run: (call) =>
      paged(
        call,
        (page) => listIsos(options, call.actor.accountId, page),
        (iso) => iso,
      ),
  })
}

function createRoute(options: ImagesOptions): Route {
  return route({
    id: 'createIso',
    method: 'POST',
    path,
    scope: 'servers:write',
    tag,
    summary: 'Upload or fetch an ISO',
    description:
      'From a file at a public `url`, or with `upload` from a file that you send next. Wait for its `operation_id`. It is billed by the GB as images are once it is available; then `PATCH /servers/{server_id}` with `iso_id` puts it into the drive of a server.',
    body: IsoCreate,
    reply: { 202: Iso },
    examples: {
      202: { status: 'importing', operation_id: OPERATION, size_gb: null, price_month_rub: '0.00' },
    },
    problems: { quota_exceeded: atLimit(isoQuota), not_supported: { feature: 'isos' } },
    errors: [
      accountProblems.quota_exceeded,
      billingProblems.insufficient_balance,
      catalogProblems.not_supported,
    ],
    run: async ({ actor, body, remember, setHeader }) => {
      requireSource(body)
      return shown(await createFromFile(options, uuid(), actor, body, remember, 'iso'), setHeader)
    },
    recover: async ({ actor, setHeader }, isoId) => shown(await findOwn(options, actor, isoId), setHeader),
  })
}

/** @throws ApiError validation_failed */
function requireSource({ upload = false, url, content_bytes, sha256 }: IsoCreate): void {
  if (upload === (url !== undefined))
    throw invalid([
      upload
        ? bodyIssue('url', 'mutually_exclusive', 'url cannot be combined with upload.')
        : bodyIssue('upload', 'required', 'upload is required, or url instead.'),
    ])
  if (upload && content_bytes === undefined)
    throw invalid([bodyIssue('content_bytes', 'required', 'content_bytes is required with upload.')])
  const extra = upload ? ('sha256' as const) : ('content_bytes' as const)
  if ({ sha256, content_bytes }[extra] !== undefined)
    throw invalid([
      bodyIssue(
        extra,
        'mutually_exclusive',
        `${extra} cannot be combined with ${upload ? 'upload' : 'url'}.`,
      ),
    ])
}

/** The example of an ISO whose file has arrived in part. */
const UPLOADING = {
  ...{ status: 'uploading', content_bytes: 662_700_032, uploaded_bytes: 33_554_432 },
  ...{ size_gb: null, price_month_rub: '0.00' },
}

function uploadRoutes(options: ImagesOptions): Route[] {
  const object = {
    tag,
    scope: 'servers:write' as const,
    params: { iso_id: isoProblems.iso_not_found },
    load: ({ actor, params }: { actor: Actor; params: { iso_id: string } }) =>
      findOwn(options, actor, params.iso_id),
  }
  const problems = { upload_offset: { uploaded_bytes: PART_BYTES } }
  const errors = [imageProblems.image_not_uploading, imageProblems.upload_offset, isoProblems.iso_is_public]
  return [
    route({
      id: 'uploadIsoPart',
      method: 'PATCH',
      path: `${path}/:iso_id/content`,
      ...object,
      summary: 'Upload a part of an ISO',
      description:
        'The body is the next part of the file, up to 16 MiB. After a failure, `GET` the ISO and continue at its `uploaded_bytes`. An upload that nobody continues for three days is deleted.',
      headers: {
        'Upload-Offset': 'Place of the part in the file in bytes: the `uploaded_bytes` of the ISO',
      },
      partBytes: PART_BYTES,
      reply: { 200: Iso },
      examples: { 200: UPLOADING },
      problems,
      errors,
      run: async ({ loaded, part }) => isoView(await receivePart(options, loaded, part)),
    }),
    route({
      id: 'importIso',
      method: 'POST',
      path: `${path}/:iso_id/import`,
      ...object,
      summary: 'Check the uploaded ISO',
      description:
        'The file must have arrived whole. Wait for the `operation_id` of the ISO. If it is neither ISO 9660 nor UDF, the ISO is in `error`, and its `status_reason` says so.',
      body: ImageImport,
      reply: { 202: Iso },
      examples: { 202: { ...UPLOADING, status: 'importing', operation_id: OPERATION } },
      problems,
      errors,
      run: async ({ loaded, body, remember, setHeader }) =>
        shown(await importUpload(options, loaded, body.sha256 ?? null, remember), setHeader),
      recover: async ({ actor, setHeader }, isoId) => shown(await findOwn(options, actor, isoId), setHeader),
    }),
  ]
}

function objectRoutes(options: ImagesOptions): Route[] {
  const object = {
    path: `${path}/:iso_id`,
    tag,
    params: { iso_id: isoProblems.iso_not_found },
  }
  const own = {
    ...object,
    scope: 'servers:write' as const,
    load: ({ actor, params }: { actor: Actor; params: { iso_id: string } }) =>
      findOwn(options, actor, params.iso_id),
  }
  return [
    route({
      id: 'getIso',
      method: 'GET',
      ...object,
      scope: 'servers:read',
      load: async ({ actor, params }) => {
        const offered = findIso(options.catalog, params.iso_id)
        return offered ? offeredIsoView(offered) : isoView(await findOwn(options, actor, params.iso_id))
      },
      summary: 'Get an ISO',
      description:
        'Returns the ISO with its status, size and price, also a `public` one. A deleted ISO returns 404.',
      reply: { 200: Iso },
      run: async ({ loaded }) => loaded,
    }),
    route({
      id: 'updateIso',
      method: 'PATCH',
      ...own,
      summary: 'Rename an ISO',
      description:
        'Only the name of an ISO of your own can be changed. It may be changed while a server has it in its drive.',
      body: IsoUpdate,
      reply: { 200: Iso },
      errors: [isoProblems.iso_is_public],
      run: async ({ loaded, body }) =>
        isoView(await updateSnapshot(options, loaded, body, isoProblems.iso_not_found)),
    }),
    route({
      id: 'deleteIso',
      method: 'DELETE',
      ...own,
      summary: 'Delete an ISO',
      description:
        'Its billing ends at once. One that is still being fetched or checked is canceled; one in the drive of a server must be taken out first.',
      reply: { 204: null },
      errors: [isoProblems.iso_in_use, isoProblems.iso_is_public],
      run: ({ loaded }) => deleteIso(options, loaded),
    }),
  ]
}
