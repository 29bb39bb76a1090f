import { benchApi } from './api.ts'
import { benchBoot } from './boot.ts'
import { benchCli } from './cli.ts'
import { benchCluster } from './cluster.ts'
import { benchConsole } from './console.ts'
import { benchCreates } from './creates.ts'
import { benchDisk } from './disk.ts'
import { benchGuests } from './guests.ts'
import { benchMetrics } from './metrics.ts'
import { benchMonth } from './month.ts'
import { benchNeighbour } from './neighbour.ts'
import { benchFloods, benchNetwork } from './network.ts'
import { benchRefusals } from './refusals.ts'

/** Runs measurements as ratios within one run; docs/sizing.md has the targets. Example: `npm run bench api 5`. */
const [which = 'boot', rounds = '5'] = process.argv.slice(2)
const benches: Record<string, (rounds: number) => Promise<void>> = {
  api: benchApi,
  boot: benchBoot,
  cli: benchCli,
  cluster: benchCluster,
  console: benchConsole,
  creates: benchCreates,
  disk: benchDisk,
  floods: benchFloods,
  guests: benchGuests,
  metrics: benchMetrics,
  month: benchMonth,
  neighbour: benchNeighbour,
  network: benchNetwork,
  refusals: async (count) => {
    await benchRefusals(count)
    await benchNeighbour(count)
  },
}
const bench = benches[which]
if (!bench) {
  console.error(`Unknown bench: ${which}. Choose one of: ${Object.keys(benches).join(', ')}.`)
  process.exit(2)
}
await bench(Number(rounds))
