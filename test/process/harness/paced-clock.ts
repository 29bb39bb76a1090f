import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ManualClock } from '../../harness/clock.ts'

const EVERY_MS = 1
const STEP_MS = 50
const SAVE_EVERY_MS = 1_000

/**
 * A clock that is fifty times as fast while its process runs, and stops while the process waits for a core or is
 * dead. So no deadline passes on a busy machine. It continues where the last process in the folder left it.
 */
export function pacedClock(folder: string): { clock: ManualClock; stop(): void } {
  const file = path.join(folder, 'clock')
  // The last process may have died just before it saved again.
  const start = existsSync(file) ? Number(readFileSync(file, 'utf8')) + SAVE_EVERY_MS : Date.now()
  const clock = new ManualClock(start)
  let saved = start
  const save = () => {
    writeFileSync(`${file}.new`, String(saved))
    renameSync(`${file}.new`, file)
  }
  save()
  const timer = setInterval(() => {
    if (clock.now() + STEP_MS >= saved + SAVE_EVERY_MS) {
      saved = clock.now() + STEP_MS
      save()
    }
    clock.advance(STEP_MS)
  }, EVERY_MS)
  return { clock, stop: () => clearInterval(timer) }
}
