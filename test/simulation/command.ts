import { parseArgs } from 'node:util'
import { live, type Outcome } from './history.ts'

const USAGE = `Usage: npm run simulate -- --months <n> [--seed <n>]
       npm run simulate -- --seed <n> --trace

Lives months of an installation under faults, each determined by its seed, and checks what must hold.

  --months <n>   the number of histories (default: 1)
  --seed <n>     the seed of the first; the next ones follow (default: 1)
  --seconds <n>  begins no further history after this time
  --once         runs each seed once, and does not compare it with a second run
  --strict       checks after every step, instead of as often as the seed has drawn
  --trace        prints every step
  --story        prints what happened, in words`

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      months: { type: 'string', default: '1' },
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string' },
      once: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
      story: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return console.log(USAGE)
  const first = Number(values.seed)
  const until = values.seconds === undefined ? null : performance.now() + Number(values.seconds) * 1_000
  const most = until === null ? Number(values.months) : Number.POSITIVE_INFINITY
  let months = 0
  const begin = process.cpuUsage()
  let violations = 0
  let days = 0
  let hash = ''
  const sometimes = new Map<string, number>()
  for (
    let seed = first;
    months < most && performance.now() < (until ?? Number.POSITIVE_INFINITY);
    seed += 1
  ) {
    months += 1
    const options = { isStrict: values.strict, ...(values.trace ? { onTrace: console.log } : {}) }
    const outcome = await live(seed, options)
    const again = values.once ? outcome : await live(seed, { isStrict: values.strict })
    if (again.hash !== outcome.hash)
      outcome.violations.push('a seed determines its history: the second run differed')
    hash = outcome.hash
    days += outcome.days * (values.once ? 1 : 2)
    violations += outcome.violations.length
    for (const [point, count] of outcome.sometimes) sometimes.set(point, (sometimes.get(point) ?? 0) + count)
    if (values.story) for (const line of outcome.story) console.log(line)
    if (outcome.violations.length > 0) report(outcome)
  }
  const { user, system } = process.cpuUsage(begin)
  const speed = days / ((user + system) / 1e6)
  if (values.story) for (const [point, count] of [...sometimes].sort()) console.log(`${count} × ${point}`)
  console.log(`hash ${hash}`)
  console.log(
    `${months} months, ${violations} violations, ${speed.toFixed(1)} simulated days a second and core, ${sometimes.size} sometimes points reached`,
  )
  process.exitCode = violations > 0 ? 1 : 0
}

function report({ seed, violations }: Outcome): void {
  console.log(`seed ${seed}:`)
  for (const what of violations.slice(0, 5)) console.log(`  ${what}`)
}
