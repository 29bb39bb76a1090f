import { findProject, unknownProject } from '../../accounts/projects.ts'
import { findZone, onSale, unknownZone } from '../../catalog/file.ts'
import { notOffered, type Plan, resolvePlan, sizeField } from '../../catalog/plans.ts'
import { withTerms } from '../../catalog/terms.ts'
import type { CpuType, Feature } from '../../drivers/driver.ts'
import type { Actor } from '../../http/contract/auth.ts'
import { bodyIssue, type Issue, invalid } from '../../http/contract/problem.ts'
import { readLogin } from '../login.ts'
import type { QuoteRequest } from '../order-schema.ts'
import { holdSource, readSource, type Source } from '../source.ts'
import type { StoredKey } from '../view.ts'
import { capacityPart, coverPart, projectPart, quotaPart } from './account.ts'
import { addressPart } from './addresses.ts'
import { backupsPart } from './backups.ts'
import { firewallsPart } from './firewalls.ts'
import { networksPart } from './networks.ts'
import type { Asked, OrderOptions, OrderPart } from './part.ts'
import { portsPart, sshPart } from './ports.ts'

const NOTHING = { cpuTypes: [], features: [] } satisfies { cpuTypes: CpuType[]; features: Feature[] }

/** A request whose names and ids were all found. */
export interface Order {
  plan: Plan
  /** Undefined in a quote that names no source. */
  source: Source | undefined
  /** The moment whose prices the plan has. */
  pricedAt: number
  /** Null: the default project. */
  projectId: string | null
  keys: StoredKey[]
  /** Everything that the order takes, in the order of locks. */
  parts: OrderPart[]
}

/**
 * Checks everything in a create or quote request that a schema cannot check.
 * @throws ApiError validation_failed, with all mistakes
 */
export async function readOrder(
  options: OrderOptions,
  { accountId, terms }: Pick<Actor, 'accountId' | 'terms'>,
  request: QuoteRequest,
): Promise<Order> {
  const { db, capacity } = options
  const zone = findZone(onSale(options.catalog), request.zone_slug)
  const { cpuTypes, features } = zone ? await capacity.abilities(zone) : NOTHING
  const at = options.clock.now()
  const catalog = withTerms(options.catalog, terms)
  const asked: Asked = { options, catalog, accountId, request, zone, features, at }
  const { plan, source, issues } = await readPlan(asked, cpuTypes)
  const { project_id: projectId = null } = request
  if (projectId !== null && !(await findProject(db, accountId, projectId))) issues.push(unknownProject())
  const { keys, issues: loginIssues } = await readLogin(db, accountId, request)
  issues.push(...loginIssues)
  const firewalls = await firewallsPart(asked)
  const networks = await networksPart(asked)
  const ports = portsPart(asked)
  // Every transaction locks account, project and networks in this order, and the pool with the commit, so
  // that no two deadlock.
  const extras = [
    sshPart(asked),
    addressPart(asked, 'ipv4'),
    addressPart(asked, 'ipv6'),
    networks,
    firewalls,
    backupsPart(asked, plan),
  ]
  issues.push(...[ports, ...extras].flatMap((part) => part.issues ?? []))
  if (issues.length > 0 || !plan) throw invalid(issues)
  const total = [ports, ...extras].reduce(withPart, plan)
  const account = [quotaPart(plan), ports, coverPart(total.priceHour)]
  const parts = [...account, capacityPart(options, plan), projectPart, ...extras, sourcePart(source)]
  return { plan, source, pricedAt: asked.at, projectId, keys, parts }
}

/** The price of an order: its plan and all its parts. */
export function totalOf({ plan, parts }: Order): Plan {
  return parts.reduce(withPart, plan)
}

function withPart(plan: Plan, { price }: OrderPart): Plan {
  if (!price) return plan
  return {
    ...plan,
    items: [...plan.items, price.item],
    priceMonth: plan.priceMonth + price.price_month,
    priceHour: plan.priceHour + price.price_hour,
  }
}

/** The snapshot or image from which the disk is created. */
function sourcePart(source: Source | undefined): OrderPart {
  return {
    take: async (tx, { server }) => {
      await holdSource(tx, server.account_id, source)
      return {}
    },
  }
}

/** The plan, which must fit zone and template. */
async function readPlan(
  { options, catalog: priced, accountId, request, zone, at }: Asked,
  cpuTypes: readonly CpuType[],
): Promise<{ plan: Plan | null; source: Source | undefined; issues: Issue[] }> {
  const catalog = onSale(priced)
  const issues: Issue[] = []
  if (!zone) issues.push(bodyIssue('zone_slug', 'not_found', unknownZone(catalog, request.zone_slug)))
  const isOffered = zone ? cpuTypes.includes(request.cpu_type) : true
  if (!isOffered)
    issues.push(bodyIssue('cpu_type', 'not_in_enum', notOffered(request.zone_slug, request.cpu_type)))
  const pool = options.capacity.poolOf(request.zone_slug)
  const { source, issue } = await readSource(options.db, options.catalog, accountId, request, { zone, pool })
  if (issue) issues.push(issue)
  const place = { zoneSlug: request.zone_slug, cpuType: request.cpu_type, at }
  const plan = zone && isOffered ? resolvePlan(catalog, request, place) : []
  if (Array.isArray(plan)) return { plan: null, source, issues: [...issues, ...plan] }
  if (source && plan.size.disk_gb < source.minDiskGb) issues.push(diskIssue(sizeField(request), plan, source))
  return { plan, source, issues }
}

function diskIssue(field: string, plan: Plan, source: Source): Issue {
  return bodyIssue(
    field,
    'disk_too_small',
    `${source.title} requires a disk of at least ${source.minDiskGb} GB; this plan has ${plan.size.disk_gb} GB.`,
  )
}
