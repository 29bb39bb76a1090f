import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { start, twoAtATime } from './harness/child.ts'
import type { Death, Finding, Order, Play, StepName } from './harness/orders.ts'

/**
 * `before` the step, `after` its effect but before its result is saved, and right after it was `saved`, which is also
 * before the next. Where steps are not written down by themselves, saving one changes nothing.
 */
const MOMENTS = [
  { saveEveryMs: 0, moments: ['after', 'saved'], first: ['before', 'after', 'saved'] },
  { saveEveryMs: 1e9, moments: ['after'], first: ['after'] },
] as const

/** One kill ends this many operations: to start a process costs more than they do. An account runs at most 32. */
const AT_ONCE = 16

/** Thirty processes; the cores may be anything but idle. */
const TIMEOUT_MS = 1_200_000

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'berth-crash-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** Runs the service until it ends or dies; @returns how, and what it told */
async function serve(order: Order, kill?: (pid: number) => void) {
  const child = start('test/process/harness/service.ts', [JSON.stringify(order)])
  if (kill) {
    await child.line((line) => line.includes('loading'))
    kill(child.process.pid ?? 0)
  }
  const { code, signal } = await child.ended
  const findings = child.stdout
    .split('\n')
    .filter(Boolean)
    .map((line): Finding => JSON.parse(line))
  const problems = findings.flatMap((finding) => finding.broken ?? [])
  if (code !== 0 && signal !== 'SIGKILL')
    problems.push(`the service failed with code ${code}: ${child.stderr}`)
  if (child.stderr.includes('killed by the test')) problems.push(`the service hung: ${child.stderr}`)
  return {
    hasEnded: findings.some((finding) => finding.ended),
    isKilled: signal === 'SIGKILL',
    findings,
    problems,
  }
}

const nameOf = ({ type, step }: StepName) => `${type}: ${step}`

test(
  'killed at any moment of any step, the next start ends the operation right',
  async () => {
    const { findings, problems } = await serve({ folder: folder(), trace: true })
    expect(problems).toEqual([])
    const walks = findings.flatMap(({ walk }) => walk ?? [])
    const table = findings.flatMap(({ steps }) => steps ?? [])
    const isFirst = (step: StepName) => table.find(({ type }) => type === step.type) === step
    const deathsAt = ({ moments, first }: (typeof MOMENTS)[number]) =>
      table.flatMap((step) => {
        const walk = walks.find(({ steps }) => steps.some((seen) => nameOf(seen) === nameOf(step)))
        const all = isFirst(step) ? first : moments
        const scenario = walk?.scenario
        return scenario ? all.map((moment): Play => ({ scenario, death: { ...step, moment } })) : []
      })
    // A step that no scenario reaches would be killed nowhere: write a scenario for it.
    for (const kind of MOMENTS) {
      const covered = new Set(deathsAt(kind).map(({ death }) => nameOf(death)))
      expect([...covered].sort()).toEqual(table.map(nameOf).sort())
    }

    // Each process finishes what the one before it left, then plays its own scenarios until it is killed.
    const wrong: string[] = []
    await twoAtATime(
      // Each step written down by itself, and none: a crash then finds the operation some steps back.
      MOMENTS.flatMap((kind) =>
        [0, 1].map((half) => () => {
          const own = deathsAt(kind).filter((_, at) => at % 2 === half)
          return chain(own, kind.saveEveryMs, wrong)
        }),
      ),
    )
    expect(wrong).toEqual([])
  },
  TIMEOUT_MS,
)

const deathName = ({ type, step, moment }: Death) => `${type}: ${step}, ${moment}`

async function chain(plays: readonly Play[], saveEveryMs: number, wrong: string[]): Promise<void> {
  const home = folder()
  let last = 'nothing'
  // Neighbours go to different kills: a host copies one server at a time, so a second copy would not begin.
  const kills = Map.groupBy(plays.entries(), ([at]) => at % Math.ceil(plays.length / AT_ONCE)).values()
  for (const kill of [...kills, []]) {
    const own = kill.map(([, play]) => play)
    const order = { folder: home, saveEveryMs, ...(own.length > 0 ? { plays: own } : {}) }
    const { isKilled, findings, problems } = await serve(order)
    // Nothing in these scenarios may fail or be canceled: a kill is no reason to.
    for (const [type, status, error] of findings.flatMap((finding) => finding.settled ?? []))
      if (status !== 'succeeded') problems.push(`${type} ended ${status} ${error}`)
    wrong.push(...problems.map((problem) => `after a kill at ${last} (${saveEveryMs}): ${problem}`))
    if (problems.length > 0) return
    for (const death of findings.flatMap(({ missed }) => missed ?? []))
      wrong.push(`no operation ever came to ${deathName(death)}`)
    last = own.map(({ death }) => deathName(death)).join('; ')
    if (own.length > 0 && !isKilled) wrong.push(`never killed at ${last}`)
  }
}

test(
  'killed at random moments while many servers come and go, nothing is lost, doubled or stuck',
  async () => {
    const wrong: string[] = []
    await twoAtATime(
      [1, 2].map((lane) => async () => {
        const home = folder()
        for (let round = 0; round < 6; round++) {
          const seed = lane * 100 + round
          // Every other time at a moment that the service counts out, else whenever the signal happens to arrive.
          const dieAt = round % 2 === 0 ? 40 + ((seed * 7919) % 700) : null
          const kill = (pid: number) => setTimeout(() => process.kill(pid, 'SIGKILL'), (seed * 104_729) % 600)
          const { findings, problems } = await serve(
            { folder: home, load: { seed, dieAt } },
            dieAt === null ? kill : undefined,
          )
          // Guests of this load do turn themselves off while they boot; nothing else may go wrong.
          for (const [type, status, error] of findings.flatMap((finding) => finding.settled ?? []))
            if (status === 'failed' && error !== 'boot_failed') problems.push(`${type} failed: ${error}`)
          wrong.push(...problems.map((problem) => `seed ${seed}: ${problem}`))
        }
        const { hasEnded, problems } = await serve({ folder: home })
        wrong.push(...problems.map((problem) => `in the end: ${problem}`))
        if (!hasEnded) wrong.push('the last start did not end by itself')
      }),
    )
    expect(wrong).toEqual([])
  },
  TIMEOUT_MS,
)
