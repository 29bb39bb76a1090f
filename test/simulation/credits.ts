import type { Auditor } from './invariants.ts'

interface CreditRow {
  credit_id: string
  account_id: string
  amount: number
  unspent: number
  counted_to: number
  expired: number
}

interface EntryRow {
  sequence: number
  hour: number | null
  amount: number
  balance_before: number
  balance_after: number
  reference: string | null
}

/** Recomputes credits entry by entry: charges use credit before other money, and the rest expires once. */
export function brokenCredits(auditor: Auditor): string[] {
  const credits = auditor.rows<CreditRow>('SELECT * FROM credits ORDER BY expires_at, credit_id')
  return [...Map.groupBy(credits, ({ account_id }) => account_id)].flatMap(([accountId, own]) =>
    recount(
      own,
      auditor.rows<EntryRow>('SELECT * FROM transactions WHERE account_id = ? ORDER BY sequence', accountId),
    ),
  )
}

function recount(credits: readonly CreditRow[], entries: readonly EntryRow[]): string[] {
  const broken: string[] = []
  const left = new Map<string, number>()
  const ended = new Map<string, number>()
  /** Computes the credits after all entries up to the last one that the product has counted. */
  const counted = new Map(credits.map(({ counted_to }) => [counted_to, new Map<string, number>()]))
  const granted = new Map<string, number>()
  for (const { sequence, hour, amount, balance_before, balance_after, reference } of entries) {
    const [kind, id = '', end] = reference?.split(':') ?? []
    if (kind === 'credit' && end === undefined) {
      const rest = amount - Math.min(amount, Math.max(0, -balance_before))
      left.set(id, rest)
      granted.set(id, rest)
    } else if (amount < 0) {
      const rest = left.get(id)
      if (kind === 'credit') {
        if (amount === 0 - (rest ?? 0)) ended.set(id, -amount)
        else
          broken.push(
            `a credit expires once, with its unspent rest: ${id} with ${-amount} instead of ${rest}`,
          )
        left.delete(id)
      }
      const sum = [...left.values()].reduce((all, each) => all + each, 0)
      // Other debits use credit only if no other money covers them.
      spend(credits, left, hour === null ? Math.max(0, sum - Math.max(0, balance_after)) : -amount)
    }
    if (counted.has(sequence)) counted.set(sequence, new Map(left))
  }
  return [
    ...broken,
    ...credits.flatMap(({ credit_id: id, unspent, expired, counted_to, amount }) => {
      const wanted = counted.get(counted_to)?.get(id) ?? granted.get(id)
      if (unspent !== wanted || !granted.has(id))
        return [`charges use credit first: ${id} has ${unspent} of ${amount} left instead of ${wanted}`]
      if (expired === (ended.get(id) ?? 0)) return []
      return [
        `the rest of an expired credit is booked: ${id} with ${expired} instead of ${ended.get(id) ?? 0}`,
      ]
    }),
  ]
}

/** Uses credits in the order in which they end. */
function spend(credits: readonly CreditRow[], left: Map<string, number>, used: number): void {
  let rest = used
  for (const { credit_id: id } of credits) {
    const has = left.get(id)
    if (has === undefined) continue
    const part = Math.min(has, rest)
    rest -= part
    left.set(id, has - part)
  }
}
