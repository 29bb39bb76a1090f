import Type from 'typebox'
import type { Catalog } from '../catalog/file.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import { operationsOfAll } from '../operations/operations.ts'
import type { OperationSchemas } from '../operations/schema.ts'
import { operationView } from '../operations/view.ts'
import type { Offsite } from '../snapshots/offsite.ts'
import { type OperatorAccountOptions, operatorAccountRoutes } from './account-routes.ts'
import type { OperatorCatalogOptions } from './catalog-replacement.ts'
import { operatorCatalogRoutes } from './catalog-routes.ts'
import { operatorDocumentRoutes } from './document-routes.ts'
import { imagesByPool, roomByZone } from './hosts.ts'
import { offsiteRoute } from './offsite.ts'
import { type OperatorPaymentOptions, operatorPaymentRoutes } from './payment-routes.ts'
import { OperatedImage, OperatedOperationQuery, operatedOperation, ZoneRoom } from './schema.ts'
import { type OperatorServerOptions, operatorServerRoutes } from './server-routes.ts'
import { operatorTransferRoute } from './transfer-routes.ts'

const tag = 'Operator'

export interface OperatorOptions
  extends OperatorAccountOptions,
    OperatorServerOptions,
    OperatorPaymentOptions,
    OperatorCatalogOptions {
  catalog: Catalog
  drivers: Drivers
  offsite: Offsite
  operationSchemas: OperationSchemas
}

/** The installation as a whole, and the operator's actions. */
export function operatorRoutes(options: OperatorOptions): Route[] {
  return [
    ...operatorAccountRoutes(options),
    ...operatorServerRoutes(options),
    ...operatorPaymentRoutes(options),
    operatorTransferRoute(options),
    ...operatorDocumentRoutes(options),
    ...operatorCatalogRoutes(options),
    ...hostRoutes(options),
    offsiteRoute(options),
    operationsRoute(options),
  ]
}

function hostRoutes(options: OperatorOptions): Route[] {
  return [
    route({
      id: 'listZoneRoom',
      method: 'GET',
      path: '/operator/capacity',
      scope: 'operator:read',
      tag,
      summary: 'List the capacity of each zone, and how much of it is sold',
      description:
        'One row for each zone of the catalogue, retired ones too. Zones with the same pool share its usage. Hosts that do not answer within 3 seconds have no total.',
      reply: { 200: Type.Array(ZoneRoom) },
      run: () => roomByZone(options),
    }),
    route({
      id: 'listImages',
      method: 'GET',
      path: '/operator/images',
      scope: 'operator:read',
      tag,
      summary: 'List the images of the templates, with their progress',
      description:
        'One row for each template and kind of machines. Listing prepares nothing: an image is prepared for the first server that needs it, or by `berthd image pull`. The progress is that of the process that replies.',
      reply: { 200: Type.Array(OperatedImage) },
      run: () => imagesByPool(options),
    }),
  ]
}

function operationsRoute({ db, operationSchemas }: OperatorOptions): Route {
  return route({
    id: 'listOperatedOperations',
    method: 'GET',
    path: '/operator/operations',
    scope: 'operator:read',
    tag,
    summary: 'List the operations of all accounts that are in progress or failed',
    description:
      'Returns the operations, newest first. Failed ones are searched for among the last 10,000 operations of all accounts, including those on deleted resources.',
    query: OperatedOperationQuery,
    reply: { 200: listOf(operatedOperation(operationSchemas)) },
    run: (call) =>
      paged(
        call,
        (page) => operationsOfAll(db, call.query.state ?? 'active', page),
        (row) => ({ account_id: row.account_id, ...operationView(row) }),
      ),
  })
}
