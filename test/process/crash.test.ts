import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
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

/** Serves a file in parts. @returns its address */
async function servedFile(): Promise<string> {
  const file = Buffer.alloc(12 * 2 ** 20)
  file.writeUInt16BE(0x55aa, 510)
  const server = createServer(({ headers }, reply) => {
    const [, from = '0', to = '0'] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? '') ?? []
    const part = file.subarray(Number(from), Number(to) + 1)
    const range = `bytes ${from}-${Number(from) + part.length - 1}/${file.length}`
    reply.writeHead(206, { 'content-range': range, 'content-length': part.length, etag: '"1"' }).end(part)
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('it listens nowhere')
  return `http://127.0.0.1:${address.port}/disk.raw`
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
    const fileUrl = await servedFile()
    const { findings, problems } = await serve({ folder: folder(), trace: true, fileUrl })
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
          return chain(own, { saveEveryMs: kind.saveEveryMs, fileUrl }, wrong)
        }),
      ),
    )
    expect(wrong).toEqual([])
  },
  TIMEOUT_MS,
)

const deathName = ({ type, step, moment }: Death) => `${type}: ${step}, ${moment}`

async function chain(
  plays: readonly Play[],
  settings: Required<Pick<Order, 'saveEveryMs' | 'fileUrl'>>,
  wrong: string[],
): Promise<void> {
  const home = folder()
  let last = 'nothing'
  // Neighbours go to different kills: a host copies one server at a time, so a second copy would not begin.
  const kills = Map.groupBy(plays.entries(), ([at]) => at % Math.ceil(plays.length / AT_ONCE)).values()
  for (const kill of [...kills, []]) {
    const own = kill.map(([, play]) => play)
    const order = { folder: home, ...settings, ...(own.length > 0 ? { plays: own } : {}) }
    const { isKilled, findings, problems } = await serve(order)
    // Nothing in these scenarios may fail or be canceled: a kill is no reason to.
    for (const [type, status, error] of findings.flatMap((finding) => finding.settled ?? []))
      if (status !== 'succeeded') problems.push(`${type} ended ${status} ${error}`)
    wrong.push(...problems.map((problem) => `after a kill at ${last} (${settings.saveEveryMs}): ${problem}`))
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

test(
  'killed at any moment of an upload, the next start continues it, and the image is whole',
  async () => {
    const home = folder()
    const wrong: string[] = []
    for (let dieAt = 1, hasEnded = false; !hasEnded; dieAt++) {
      const served = await serve({ folder: home, upload: { dieAt } })
      wrong.push(...served.problems.map((problem) => `killed at ${dieAt}: ${problem}`))
      hasEnded = served.hasEnded || wrong.length > 0
    }
    expect(wrong).toEqual([])
  },
  TIMEOUT_MS,
)
