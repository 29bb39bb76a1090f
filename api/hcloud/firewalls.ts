import { type Static, Type } from 'typebox'
import type { Firewall, FirewallRule } from '../firewalls/schema.ts'
import type { Server } from '../servers/schema.ts'
import { actionsOn, done } from './actions.ts'
import { elsewhere, missing, unsupported } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import type { Listed } from './lists.ts'
import { changeable, changing, Labels, type Resource, reading, requireFree } from './resources.ts'

const MaybeText = Type.Optional(Type.String())
const Cidrs = Type.Optional(Type.Array(Type.String(), { maxItems: 100 }))
const Rule = Type.Object({
  direction: Type.Enum(['in', 'out']),
  protocol: Type.Enum(['tcp', 'udp', 'icmp', 'any', 'esp', 'gre']),
  port: MaybeText,
  source_ips: Cidrs,
  destination_ips: Cidrs,
  description: MaybeText,
})
const Rules = Type.Array(Rule, { maxItems: 100 })
const Target = Type.Object({
  type: Type.Enum(['server', 'label_selector']),
  server: Type.Optional(Type.Object({ id: Type.Integer() })),
  label_selector: Type.Optional(Type.Object({ selector: Type.String() })),
})
const Targets = Type.Array(Target, { maxItems: 100 })

/** Rules of tcp and udp have ports; these clients say "any" for all of them. */
function ruleView({ direction, protocol, ports, cidrs, description }: FirewallRule) {
  const hasPorts = protocol === 'tcp' || protocol === 'udp'
  return {
    ...{ direction, protocol, description, port: hasPorts ? (ports ?? 'any') : null },
    source_ips: direction === 'in' ? cidrs : [],
    destination_ips: direction === 'out' ? cidrs : [],
  }
}

function ruleOf({
  direction,
  protocol,
  port,
  source_ips,
  destination_ips,
  description,
}: Static<typeof Rule>) {
  if (protocol === 'esp' || protocol === 'gre')
    throw unsupported(`Rules for ${protocol} are not offered here.`)
  const cidrs = direction === 'in' ? source_ips : destination_ips
  return {
    ...{ direction, protocol, ports: port && port !== 'any' ? port : null, description: description ?? null },
    ...(cidrs && cidrs.length > 0 ? { cidrs } : {}),
  }
}

function firewallView(x: Exchange, firewall: Firewall, strangers: ReadonlySet<string>): Listed {
  const { firewall_id, name, rules, server_ids, label_selector: selector, created_at } = firewall
  const own = server_ids.filter((id) => !strangers.has(id))
  const servers = own.map((id) => ({ type: 'server', server: { id: x.ref('server', id) } }))
  const labelled = { type: 'label_selector', label_selector: { selector }, applied_to_resources: [] }
  return Object.assign(
    { id: x.ref('firewall', firewall_id), name, labels: firewall.labels, created: created_at },
    { rules: rules.map(ruleView), applied_to: selector === null ? servers : [...servers, labelled] },
  )
}

const firewalls: Resource = {
  ...{ kind: 'firewall', one: 'firewall', many: 'firewalls' },
  all: async (x) => {
    const all = await x.all<Firewall>('listFirewalls')
    const strangers = await x.strangers(all.flatMap(({ server_ids }) => server_ids))
    return all.map((firewall) => firewallView(x, firewall, strangers))
  },
  find: async (x, firewall_id) => {
    const firewall = await x.v1<Firewall>('getFirewall', { params: { firewall_id } })
    return firewallView(x, firewall, await x.strangers(firewall.server_ids))
  },
  guard: async (x, firewall_id) => {
    const { server_ids, label_selector } = await x.v1<Firewall>('getFirewall', { params: { firewall_id } })
    if ((await x.strangers(server_ids)).size > 0) throw elsewhere('firewall')
    if (label_selector !== null) await requireOwnSelected(x, label_selector)
  },
}

/** @throws ApiError forbidden for a selector that also matches servers of another project */
async function requireOwnSelected(x: Exchange, selector: string): Promise<void> {
  const selected = await x.all<Server>('listServers', { label: selector })
  if (selected.some(({ project_id }) => project_id !== x.projectId)) throw elsewhere('label selector')
}

/** The servers and the one selector that a request names. @throws ApiError not_found, unsupported_error */
async function targetsOf(x: Exchange, targets: Static<typeof Targets>) {
  const numbers = targets.flatMap(({ server }) => server?.id ?? [])
  const selectors = targets.flatMap(({ label_selector }) => label_selector?.selector ?? [])
  if (selectors.length > 1) throw unsupported('A firewall has one label selector: join its terms by commas.')
  const servers = await Promise.all(numbers.map((id) => x.server(id)))
  const [selector] = selectors
  if (selector !== undefined) await requireOwnSelected(x, selector)
  return { serverIds: servers.map(({ server_id }) => server_id), selector }
}

async function apply(x: Exchange, firewall_id: string, targets: Static<typeof Targets>): Promise<void> {
  const { serverIds, selector } = await targetsOf(x, targets)
  const params = { firewall_id }
  if (serverIds.length > 0) await x.v1('attachFirewall', { params, body: { server_ids: serverIds } })
  if (selector === undefined) return
  const { label_selector } = await x.v1<Firewall>('getFirewall', { params })
  if (label_selector !== null && label_selector !== selector)
    throw unsupported(`A firewall has one label selector, and this one has ${label_selector}.`)
  await x.v1('updateFirewall', { params, body: { label_selector: selector } })
}

async function remove(x: Exchange, firewall_id: string, targets: Static<typeof Targets>): Promise<void> {
  const { serverIds, selector } = await targetsOf(x, targets)
  for (const server_id of serverIds) await x.v1('detachFirewall', { params: { firewall_id, server_id } })
  if (selector === undefined) return
  const params = { firewall_id }
  const { label_selector } = await x.v1<Firewall>('getFirewall', { params })
  if (label_selector !== selector) throw missing('label_selector', selector)
  await x.v1('updateFirewall', { params, body: { label_selector: null } })
}

/** Declares a change of a firewall, which is complete at once. */
function change<Field extends string>(
  name: string,
  body: Type.TObject<Record<Field, typeof Targets>>,
  run: typeof apply,
  field: Field,
): HcloudRoute {
  return answer({
    method: 'POST',
    path: `/firewalls/:id/actions/${name}`,
    body,
    run: async (x, given) => {
      const id = await x.idOf('firewall', x.param('id'))
      await run(x, id, (given as Record<Field, Static<typeof Targets>>)[field]) // of the schema above
      return { actions: [done(x, name, ['firewall', id]).action] }
    },
  })
}

export const firewallRoutes: HcloudRoute[] = [
  ...reading(firewalls),
  answer({
    method: 'POST',
    path: '/firewalls',
    body: Type.Object({
      name: Type.String(),
      rules: Type.Optional(Rules),
      apply_to: Type.Optional(Targets),
      labels: Labels,
    }),
    run: async (x, { name, rules = [], apply_to = [], labels = {} }) => {
      await requireFree(x, firewalls, name)
      const { serverIds: server_ids, selector } = await targetsOf(x, apply_to)
      const body = { name, rules: rules.map(ruleOf), labels, label_selector: selector ?? null }
      const { firewall_id } = await x.v1<Firewall>('createFirewall', { body })
      const params = { firewall_id }
      if (server_ids.length > 0)
        await x.orUndo(x.v1('attachFirewall', { params, body: { server_ids } }), 'deleteFirewall', params)
      return { firewall: await firewalls.find(x, firewall_id), actions: [] }
    },
  }),
  ...changing(firewalls, { param: 'firewall_id', update: 'updateFirewall', remove: 'deleteFirewall' }),
  answer({
    method: 'POST',
    path: '/firewalls/:id/actions/set_rules',
    body: Type.Object({ rules: Rules }),
    run: async (x, { rules }) => {
      const firewall_id = await changeable(x, firewalls)
      await x.v1('updateFirewall', { params: { firewall_id }, body: { rules: rules.map(ruleOf) } })
      return { actions: [done(x, 'set_firewall_rules', ['firewall', firewall_id]).action] }
    },
  }),
  change('apply_to_resources', Type.Object({ apply_to: Targets }), apply, 'apply_to'),
  change('remove_from_resources', Type.Object({ remove_from: Targets }), remove, 'remove_from'),
  ...actionsOn(firewalls),
]
