import { execFile } from 'node:child_process'
import path from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { drillAll } from './drill.ts'
import { live } from './history.ts'
import type { Outcome } from './outcome.ts'
import { planted } from './planted.ts'
import { Points } from './points.ts'
import { endPostgres } from './postgres.ts'
import { drawSetup } from './setup.ts'
import { shrink } from './shrink.ts'

const USAGE = `Usage: npm run simulate -- [--months <n> | --seconds <n>] [--seed <n>]
       npm run simulate -- --planted <n> [--seeds <n>] [--seed <n>]

Simulates months of an installation under faults, each determined by its seed, and checks its promises. A history that
breaks a promise is shortened and printed.

  --months <n>   number of histories (default: 1)
  --seconds <n>  begins no further history after this time
  --seed <n>     seed of the first history; the next ones follow (default: 1)
  --once         simulates each history once, and does not compare it with a repetition
  --postgres     keeps the database in a real PostgreSQL (default: SQLite)
  --strict       checks after every step, instead of as often as the seed has drawn
  --whole        does not shorten histories that fail
  --story        prints what happens, in words
  --trace        prints every step
  --points       prints which points and pairs were reached, and which never
  --planted <n>  plants so many mistakes in the product, one after the other, and looks for each
  --plant <n>    plants this mistake only, and stops once it is found; also with --drill
  --drill        carries out each act with one fault at each time at which it can happen
  --act <name>   drills this act only
  --seeds <n>    number of histories in which a mistake must be found (default: 100)`

const options = {
  months: { type: 'string' },
  seed: { type: 'string', default: '1' },
  seconds: { type: 'string' },
  once: { type: 'boolean', default: false },
  postgres: { type: 'boolean', default: false },
  strict: { type: 'boolean', default: false },
  trace: { type: 'boolean', default: false },
  whole: { type: 'boolean', default: false },
  story: { type: 'boolean', default: false },
  points: { type: 'boolean', default: false },
  planted: { type: 'string' },
  plant: { type: 'string' },
  seeds: { type: 'string', default: '100' },
  drill: { type: 'boolean', default: false },
  act: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const
type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options })
  if (values.help) return console.log(USAGE)
  if (values.planted !== undefined) return findAll(Number(values.planted), values)
  if (values.drill) return drillAll(values.act)
  if (values.plant !== undefined) return findOne(values).finally(endPostgres)
  return liveMonths(values).finally(endPostgres)
}

async function liveMonths(values: Values): Promise<void> {
  const until = values.seconds === undefined ? null : performance.now() + Number(values.seconds) * 1_000
  const most = until === null ? Number(values.months ?? 1) : Number.POSITIVE_INFINITY
  const hasTime = () => until === null || performance.now() < until
  const points = new Points({ isOnPostgres: values.postgres })
  const used = process.cpuUsage()
  const sum = { months: 0, violations: 0, days: 0, hash: '' }
  for (let seed = Number(values.seed); sum.months < most && hasTime(); seed += 1) {
    const outcome = await liveOnce(seed, values)
    points.add(outcome)
    sum.months += 1
    sum.days += outcome.days * (values.once ? 1 : 2)
    sum.violations += outcome.violations.length
    sum.hash = outcome.hash
    if (outcome.violations.length > 0) await report(outcome, values)
  }
  const { user, system } = process.cpuUsage(used)
  if (values.points) for (const line of points.lines()) console.log(line)
  console.log(`hash ${sum.hash}`)
  const speed = `${(sum.days / ((user + system) / 1e6)).toFixed(1)} simulated days a second and core`
  console.log(`${sum.months} months, ${sum.violations} violations, ${speed}, ${points.summary}`)
  process.exitCode = sum.violations > 0 ? 1 : 0
}

async function liveOnce(seed: number, { strict, trace, story, once, postgres }: Values): Promise<Outcome> {
  const options = { isStrict: strict, isOnPostgres: postgres }
  const outcome = await live(seed, { ...options, ...(trace ? { onTrace: console.log } : {}) })
  if (story) for (const line of outcome.story) console.log(line)
  const again = once ? outcome : await live(seed, options)
  if (again.hash !== outcome.hash)
    outcome.violations.push('a seed determines its history: its repetition was different')
  return outcome
}

/** Prints the shortest history found that breaks the same promise. */
async function report(failed: Outcome, { whole, postgres }: Values): Promise<void> {
  console.log(`seed ${failed.seed} breaks a promise:`)
  for (const what of failed.violations.slice(0, 5)) console.log(`  ${what}`)
  if (whole) return
  const { story, moves, violations } = await shrink(failed, { isOnPostgres: postgres })
  const { processes, customers } = drawSetup(failed.seed)
  console.log(`Shortened to ${moves.length} moves, with ${processes} processes and ${customers} customers:`)
  for (const line of story) console.log(`  ${line}`)
  for (const what of violations.slice(0, 2)) console.log(`  ${what}`)
}

/** Searches for the mistake that was planted before the product was loaded. */
async function findOne({ plant, seed: first, seeds, postgres }: Values): Promise<void> {
  for (let at = 0; at < Number(seeds); at += 1) {
    const seed = Number(first) + at
    const { violations } = await live(seed, { isOnPostgres: postgres })
    if (violations[0])
      return console.log(`found ${at + 1} ${violations[0].slice(0, 160).replaceAll('\n', ' ')}`)
  }
  console.log(`not found ${plant}`)
}

/** Plants mistakes one after the other, each in a process of its own. */
async function findAll(count: number, { seed, seeds }: Values): Promise<void> {
  const run = path.join(import.meta.dirname, 'run.ts')
  const missed: string[] = []
  const all = planted.slice(0, count)
  for (const [at, { name }] of all.entries()) {
    const args = [run, '--plant', String(at), '--seed', String(seed), '--seeds', String(seeds)]
    // A mistake that can't be planted, or that prevents any start, ends this command with its error.
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 })
    const line = stdout.trim().split('\n').at(-1) ?? ''
    const found = /^found (\d+) (.*)/.exec(line)
    if (!found) missed.push(name)
    console.log(found ? `${at} ${name}: seed ${found[1]}: ${found[2]}` : `${at} ${name}: NOT FOUND`)
  }
  for (const name of missed) console.log(`not found in ${seeds} histories: ${name}`)
  console.log(`${all.length - missed.length} of ${all.length} planted mistakes found`)
  process.exitCode = missed.length > 0 ? 1 : 0
}
