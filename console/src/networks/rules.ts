import { ANYWHERE, type FirewallCreate, type FirewallRule, firewallTemplates } from '@berth/sdk'

export type Rule = NonNullable<FirewallCreate['rules']>[number]

/** A rule as the user types it: an empty field means all ports, or anywhere. */
export interface Draft {
  /** Identifies the draft in the editor; the API has no ids of rules. */
  key: number
  direction: FirewallRule['direction']
  protocol: FirewallRule['protocol']
  ports: string
  ends: string
  description: string
}

let keys = 0
const nextKey = () => {
  keys += 1
  return keys
}

export const isAnywhere = (cidrs: readonly string[]) =>
  cidrs.length === ANYWHERE.length && ANYWHERE.every((cidr) => cidrs.includes(cidr))

export const emptyDraft = (): Draft => ({
  key: nextKey(),
  direction: 'in',
  protocol: 'tcp',
  ports: '',
  ends: '',
  description: '',
})

export const draftOf = ({ direction, protocol, ports, cidrs, description }: FirewallRule): Draft => ({
  key: nextKey(),
  direction,
  protocol,
  ports: ports ?? '',
  ends: isAnywhere(cidrs) ? '' : cidrs.join(', '),
  description: description ?? '',
})

export const hasPorts = ({ protocol }: Pick<Draft, 'protocol'>) => protocol === 'tcp' || protocol === 'udp'

/** Converts a draft to a rule of the API. */
export function ruleOf(draft: Draft): Rule {
  const { direction, protocol, ports, ends, description } = draft
  const cidrs = ends.split(/[\s,]+/).filter((part) => part !== '')
  return {
    direction,
    protocol,
    ports: hasPorts(draft) ? ports.replaceAll(/\s/g, '') || null : null,
    cidrs: cidrs.length > 0 ? cidrs : ANYWHERE,
    description: description.trim() || null,
  }
}

/** Initial rules for a new firewall. */
export const templates = { ...firewallTemplates, empty: [] }

export type Template = keyof typeof templates
export const templateNames = ['ssh', 'web', 'empty'] as const satisfies readonly Template[]
