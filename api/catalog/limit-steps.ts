import Type from 'typebox'
import type { Fault } from '../drivers/module.ts'
import { parseMoney } from '../money.ts'

/** A limit that an account gets once it has paid a sum, in units. */
export interface LimitStep {
  paid: number
  limit: number
}

/** The steps of quotas by name, in rising order. Quotas without steps rise with the first payment. */
export type LimitSteps = Readonly<Partial<Record<string, readonly LimitStep[]>>>

/** The names of all quotas, which features above the catalogue define. */
export const limitNames = [
  ...[
    'members',
    'projects',
    'ssh_keys',
    'tokens',
    'servers',
    'cpu',
    'ram_mb',
    'disk_gb',
    'webhooks',
    'ports',
  ],
  ...['addresses', 'networks', 'volumes', 'volumes_gb', 'firewalls', 'snapshots', 'images', 'isos'],
  'image_files_gb',
]

const Limit = Type.Integer({ minimum: 0, maximum: 999_999_999 })

/** The part of the catalogue file with limits of accounts, by the sum that they have paid. */
export const AccountLimits = Type.Array(
  Type.Object({
    paid_rub: Type.String({
      pattern: String.raw`^\d{1,9}(\.\d{1,2})?$`,
      errorMessage: 'must be an amount such as "1000.00", in quotes and not negative.',
    }),
    limits: Type.Record(Type.String(), Limit),
  }),
  { maxItems: 20 },
)

interface Entry {
  paid_rub: string
  limits: Record<string, number>
}

export function stepsOf(entries: readonly Entry[] = []): LimitSteps {
  const steps: Record<string, LimitStep[]> = {}
  for (const { paid_rub, limits } of entries)
    for (const [name, limit] of Object.entries(limits))
      steps[name] = [...(steps[name] ?? []), { paid: parseMoney(paid_rub), limit }]
  return steps
}

/** Finds names that are not quotas, and steps that lower a limit for a higher sum. */
export function stepFaults(entries: readonly Entry[] = []): Fault[] {
  return entries.flatMap(({ paid_rub, limits }, at): Fault[] => {
    const earlier = entries.slice(0, at)
    const isLater = earlier.every((before) => parseMoney(before.paid_rub) < parseMoney(paid_rub))
    const order: Fault[] = isLater
      ? []
      : [[`/account_limits/${at}`, `paid_rub must be more than in the entry before.`]]
    const faults = Object.entries(limits).flatMap(([name, limit]): Fault[] => {
      const place = `/account_limits/${at}/limits/${name}`
      if (!limitNames.includes(name))
        return [[place, `no such limit: ${name}. There are ${limitNames.join(', ')}.`]]
      const most = Math.max(0, ...earlier.map((before) => before.limits[name] ?? 0))
      return limit < most ? [[place, `${name} falls from ${most} to ${limit}, though more is paid.`]] : []
    })
    return [...order, ...faults]
  })
}
