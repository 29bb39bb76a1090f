import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { performance } from 'node:perf_hooks'

const BERTH = path.resolve(import.meta.dirname, '../cli/berth.mjs')

/**
 * Measures the startup time of the command line: it prints its version, compared with a Node that does nothing. The two
 * take turns, so that a machine that slows down slows both. Node's cache is warm, as with every run but a customer's
 * first.
 */
export async function benchCli(rounds: number): Promise<void> {
  const home = mkdtempSync(path.join(tmpdir(), 'berth-bench-'))
  const env = { ...process.env, XDG_CACHE_HOME: home, XDG_CONFIG_HOME: home }
  const timed = (args: string[]) => {
    const start = performance.now()
    execFileSync(process.execPath, args, { env })
    return performance.now() - start
  }
  try {
    const first = timed([BERTH, '--version'])
    const [bare, berth]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      bare.push(timed(['-e', '0']))
      berth.push(timed([BERTH, '--version']))
    }
    const [node, warm] = [median(bare), median(berth)]
    console.log(
      `berth --version: median ${warm.toFixed(0)} ms (target: at most 150), ${first.toFixed(0)} ms the first time; ` +
        `node -e 0: ${node.toFixed(0)} ms, ratio ${(warm / node).toFixed(1)}`,
    )
  } finally {
    rmSync(home, { recursive: true })
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
