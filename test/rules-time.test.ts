// A simulated history (test/simulation) repeats from its seed only if the program takes time and randomness from the
// sources that the simulation replaces.
import { test } from 'vitest'
import { place, product, refuse } from './harness/sources.ts'

/** Files that may read Node's own clock, besides commands and drivers, which run outside of histories. */
const OWN_TIME = [
  'api/clock.ts',
  // These wait for something outside of the process: another process, a connection, a lock.
  'api/consoles/viewer.ts',
  'api/database/line.ts',
  'api/database/migrate.ts',
  'api/database/migrations/0003-ledger.ts',
  'api/database/postgres-driver.ts',
  'api/database/sqlite-driver.ts',
  'api/http/server/departure.ts',
  'api/http/server/health.ts',
  'api/processes/link.ts',
  // These need a clock that cannot be set.
  'api/billing/worker.ts',
  'api/http/limits/turns.ts',
  'api/people/guard/passwords.ts',
  'api/processes/members.ts',
  'api/telemetry.ts',
]
const isOutside = (file: string) => /^api\/(?:commands|drivers\/(?:qemu|incus|guest))\//.test(file)
const api = product.filter(({ file }) => file.startsWith('api/') && !isOutside(file))

test('features take the time from their clock', () => {
  const asks = /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bset(?:Timeout|Interval)\b/
  refuse(
    api.filter(({ file, text }) => asks.test(text) && !OWN_TIME.includes(file)).map(({ file }) => file),
    'tests turn a clock by hand, and a simulated month lasts seconds.',
    'take a Clock (api/clock.ts) as an argument; a file that must read the clock of Node is listed in OWN_TIME with its reason.',
  )
})

test('randomness and waits use only sources that the simulation replaces', () => {
  const names: Record<string, readonly string[]> = {
    Math: ['random'],
    AbortSignal: ['timeout'],
    Atomics: ['wait', 'waitAsync'],
  }
  const hidden = api.flatMap((source) =>
    source.nodes.flatMap(({ node }) => {
      if (node.type !== 'MemberExpression') return []
      const [object, property] = [node.object, node.property].map(nameOf)
      return names[object ?? '']?.includes(property ?? '') ? [place(source, node)] : []
    }),
  )
  refuse(
    hidden,
    'test/simulation/seams.ts replaces timers, clocks and node:crypto; with these a history would not repeat.',
    'draw from node:crypto, and wait with a Clock.',
  )
})

function nameOf(node: unknown): string | undefined {
  return typeof node === 'object' && node && 'name' in node && typeof node.name === 'string'
    ? node.name
    : undefined
}
