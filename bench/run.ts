import { benchApi } from './api.ts'
import { benchBoot } from './boot.ts'
import { benchCli } from './cli.ts'
import { benchMetrics } from './metrics.ts'
import { benchMonth } from './month.ts'
import { benchRefusals } from './refusals.ts'

/** Measurements as ratios within one run; see docs/running.md for what they should be. `npm run bench api 5` */
const [which = 'boot', rounds = '5'] = process.argv.slice(2)
const benches: Record<string, (rounds: number) => Promise<void>> = {
  api: benchApi,
  boot: benchBoot,
  cli: benchCli,
  metrics: benchMetrics,
  month: benchMonth,
  refusals: benchRefusals,
}
const bench = benches[which]
if (!bench) {
  console.error(`There is no bench "${which}". There are: ${Object.keys(benches).join(', ')}.`)
  process.exit(2)
}
await bench(Number(rounds))
