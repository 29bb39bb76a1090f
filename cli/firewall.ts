import {
  ANYWHERE,
  type Berth,
  type Firewall,
  type FirewallRule,
  firewallTemplates,
  isBerthError,
} from '@berth/sdk'
import { Command, InvalidArgumentError, Option } from 'commander'
import { deleteCommand } from './delete.ts'
import { exitCodes, nothingToChange, Refusal } from './errors.ts'
import { find, idOf, kind } from './find.ts'
import { repeated } from './flags.ts'
import {
  type LabelChanges,
  type Labels,
  labelsAfter,
  labelText,
  withLabelChanges,
  withLabelFilter,
  withLabels,
} from './labels.ts'
import type { Columns } from './output.ts'
import { serverKind } from './server/kind.ts'
import { action, listCommand, type Session } from './session.ts'

export const firewallKind = kind({
  noun: 'firewall',
  all: (berth) => berth.firewalls.listAll(),
  id: ({ firewall_id }) => firewall_id,
  name: ({ name }) => name,
})

const columns: Columns<Firewall> = {
  id: ({ firewall_id }) => firewall_id,
  name: ({ name }) => name,
  rules: ({ rules }) => rules.length,
  servers: ({ server_ids }) => server_ids.length,
  selector: ({ label_selector }) => label_selector,
  labels: labelText,
  created: ({ created_at }) => created_at,
}

type Rule = Omit<FirewallRule, 'description'> & { description?: string | null | undefined }

/** The rules of a template. @param from the allowed sources of SSH */
const rulesOf = (template: keyof typeof firewallTemplates, from: string[] = ANYWHERE): Rule[] =>
  firewallTemplates[template].map((rule) => (rule.ports === '22' ? { ...rule, cidrs: from } : rule))

export function firewallCommand(): Command {
  return new Command('firewall')
    .description('manage firewalls')
    .addCommand(
      withLabelFilter(
        listCommand<Firewall, { server?: string; label?: string }>({
          description: 'list firewalls, newest first',
          columns,
          shown: ['id', 'name', 'rules', 'servers', 'selector'],
          items: async ({ berth }, { server, label }) =>
            berth.firewalls.listAll({
              label,
              ...(server && { server_id: await idOf(berth, serverKind, server) }),
            }),
        }).option('--server <server>', 'only firewalls of this server, by name or id'),
        'firewalls',
      ),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(updateCommand())
    .addCommand(
      deleteCommand(firewallKind, 'delete a firewall that is attached to no server', (berth, id) =>
        berth.firewalls.delete(id),
      ),
    )
    .addCommand(attachCommand())
    .addCommand(detachCommand())
    .addCommand(ruleCommand())
}

function showFirewall({ show }: Session, firewall: Firewall): Promise<void> {
  const rules = firewall.rules.map((rule, at) => [`Rule ${at + 1}`, () => textOf(rule)] as const)
  return show(firewall, {
    ID: ({ firewall_id }) => firewall_id,
    Name: ({ name }) => name,
    Servers: ({ server_ids }) => server_ids.join(', ') || null,
    'Label selector': ({ label_selector }) => label_selector,
    Labels: labelText,
    ...Object.fromEntries(rules),
  })
}

/** Such as "in tcp 22 from 203.0.113.0/24". */
function textOf({ direction, protocol, ports, cidrs, description }: FirewallRule): string {
  const isAnywhere = cidrs.length === 2 && ANYWHERE.every((cidr) => cidrs.includes(cidr))
  const where = `${direction === 'in' ? 'from' : 'to'} ${isAnywhere ? 'anywhere' : cidrs.join(', ')}`
  return [direction, protocol, ports, where, description && `(${description})`].filter(Boolean).join(' ')
}

function showCommand(): Command {
  return new Command('show')
    .description('show a firewall with its rules')
    .argument('<firewall>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        await showFirewall(session, await berth.firewalls.get(await idOf(berth, firewallKind, given)))
      }),
    )
}

interface CreateOptions {
  template?: keyof typeof firewallTemplates
  from?: string[]
  selector?: string
  label?: Labels
}

function createCommand(): Command {
  const command = new Command('create')
    .description('create a firewall; incoming connections are refused unless a rule allows them')
    .argument('<name>', 'what it is for')
    .addOption(
      new Option('--template <name>', 'rules to start with: SSH and ping, or also HTTP and HTTPS').choices(
        Object.keys(firewallTemplates),
      ),
    )
    .option(
      '--from <cidr>',
      'range that the template allows SSH from (repeatable; default: anywhere)',
      repeated,
    )
    .option('--selector <selector>', 'attach it to all servers with these labels, such as env=prod')
  return withLabels(command).action(
    action(async (session, name: string, { template, from, selector, label: labels }: CreateOptions) => {
      if (from && !template)
        throw new Refusal(
          '--from sets the range that a template allows SSH from, and no --template is given.',
          'Add --template ssh, or add rules later: berth firewall rule add --help',
        )
      const rules = template ? rulesOf(template, from) : []
      const firewall = await session.berth.firewalls.create({ name, rules, label_selector: selector, labels })
      await showFirewall(session, firewall)
      if (!selector) session.note(`Attach it to servers with: berth firewall attach ${name} <server>`)
    }),
  )
}

interface UpdateOptions extends LabelChanges {
  name?: string
  selector?: string
}

function updateCommand(): Command {
  const command = new Command('update')
    .description('change the name, the labels or the label selector of a firewall')
    .argument('<firewall>', 'name or id')
    .option('--name <name>', 'new name')
    .option('--selector <selector>', "new label selector; '' for none")
  return withLabelChanges(command).action(
    action(async (session, given: string, options: UpdateOptions) => {
      const { berth } = session
      if (Object.keys(options).length === 0) throw nothingToChange('firewall')
      const { name, selector } = options
      const before = await find(berth, firewallKind, given)
      const label_selector = selector === '' ? null : selector
      const change = { name, label_selector, ...labelsAfter(before, options) }
      await showFirewall(session, await berth.firewalls.update(before.firewall_id, change))
    }),
  )
}

function attachCommand(): Command {
  return new Command('attach')
    .description('attach a firewall to servers, with immediate effect')
    .argument('<firewall>', 'name or id')
    .argument('<server...>', 'names or ids')
    .action(
      action(async (session, given: string, servers: string[]) => {
        const { berth } = session
        const id = await idOf(berth, firewallKind, given)
        const ids = await Promise.all(servers.map((server) => idOf(berth, serverKind, server)))
        await showFirewall(session, await berth.firewalls.attach(id, [...new Set(ids)]))
      }),
    )
}

function detachCommand(): Command {
  return new Command('detach')
    .description(
      'detach a firewall from a server, with immediate effect; a server without firewalls allows all connections',
    )
    .argument('<firewall>', 'name or id')
    .argument('<server>', 'name or id')
    .action(
      action(async ({ berth, note }, given: string, server: string) => {
        const id = await idOf(berth, firewallKind, given)
        await berth.firewalls.detach(id, await idOf(berth, serverKind, server))
        note(`Detached firewall ${given} from ${server}.`)
      }),
    )
}

function ruleCommand(): Command {
  return new Command('rule')
    .description('add and delete rules of a firewall')
    .addCommand(addRuleCommand())
    .addCommand(deleteRuleCommand())
}

interface RuleOptions {
  out?: boolean
  cidr?: string[]
  description?: string
}

function addRuleCommand(): Command {
  return new Command('add')
    .description('add a rule that allows connections, with immediate effect')
    .argument('<firewall>', 'name or id')
    .argument('<what>', 'port such as 22, 53/udp or 8000-9000, or a protocol: tcp, udp, icmp or any', whatOf)
    .option('--out', 'outgoing connections (default: incoming)')
    .option('--cidr <cidr>', 'address or range of the other end (repeatable; default: anywhere)', repeated)
    .option('--description <text>', 'description')
    .action(
      action(async (session, given: string, what: What, { out, cidr, description }: RuleOptions) => {
        const { berth } = session
        const rule = { ...what, direction: out ? 'out' : 'in', cidrs: cidr ?? ANYWHERE, description } as const
        await showFirewall(session, await changeRules(berth, given, (rules) => [...rules, rule]))
      }),
    )
}

function deleteRuleCommand(): Command {
  return new Command('delete')
    .description('delete a rule, with immediate effect')
    .argument('<firewall>', 'name or id')
    .argument('<number>', 'number of the rule, as berth firewall show prints it')
    .action(
      action(async (session, given: string, number: string) => {
        const { berth } = session
        let meant: string | null = null
        const firewall = await changeRules(berth, given, (rules) => {
          const rule = /^[1-9]\d*$/.test(number) ? rules[Number(number) - 1] : undefined
          // Another rule has this number by now, and the caller did not mean that one.
          if (!rule || (meant !== null && meant !== JSON.stringify(rule)))
            throw new Refusal(
              meant
                ? `The rules of firewall ${given} have changed.`
                : `Firewall ${given} has no rule ${number}.`,
              `See its rules with: berth firewall show ${given}`,
              meant ? exitCodes.conflict : exitCodes.notFound,
            )
          meant = JSON.stringify(rule)
          return rules.filter((other) => other !== rule)
        })
        await showFirewall(session, firewall)
      }),
    )
}

const MOST_TRIES = 10

/** The API replaces all rules at once, so a concurrent change by somebody else must not get lost. */
async function changeRules(
  berth: Berth,
  given: string,
  change: (rules: FirewallRule[]) => Rule[],
): Promise<Firewall> {
  const id = await idOf(berth, firewallKind, given)
  for (let tries = 1; ; tries++) {
    let ifMatch: string | undefined
    const onReply = ({ headers }: Response) => {
      ifMatch = headers.get('etag') ?? undefined
    }
    const { rules } = await berth.firewalls.get(id, { onReply })
    try {
      return await berth.firewalls.update(id, { rules: change(rules) }, { ifMatch })
    } catch (error) {
      const isBehind = isBerthError(error, 'precondition_failed')
      if (!isBehind || tries === MOST_TRIES) throw error
    }
  }
}

type What = Pick<FirewallRule, 'protocol' | 'ports'>

/** @throws InvalidArgumentError */
function whatOf(text: string): What {
  const [, ports = null, protocol = 'tcp'] =
    /^(\d{1,5}(?:-\d{1,5})?)(?:\/(tcp|udp))?$/.exec(text) ?? /^()(tcp|udp|icmp|any)$/.exec(text) ?? []
  if (
    ports !== null &&
    (protocol === 'tcp' || protocol === 'udp' || protocol === 'icmp' || protocol === 'any')
  )
    return { protocol, ports: ports === '' ? null : ports }
  throw new InvalidArgumentError(
    'It must be a port such as 22, 53/udp or 8000-9000, or tcp, udp, icmp or any.',
  )
}
