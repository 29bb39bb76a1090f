import { setTimeout as sleep } from 'node:timers/promises'
import { countEffects } from './test-effects.ts'

/**
 * For tests: a process that copies a machine's disk until the copy is ready, and kills itself at one of its effects.
 * Arguments: the data folder, the machine, the snapshot, the number of the effect (0: none), and the full copy that
 * the copy may be a difference to (missing: none). Prints how many effects there were.
 */
const [, , dataDir = '', serverId = '', snapshotId = '', killAt, baseId] = process.argv
if (import.meta.main) {
  const effects = countEffects(Number(killAt))
  const { openSnapshots } = await import('./test-snapshots.ts')
  const { snapshots } = await openSnapshots(dataDir)
  await snapshots.adopt()
  for (;;) {
    const state = await snapshots.state(serverId, snapshotId, baseId)
    if (state.state === 'failed') throw new Error(state.message)
    if (state.state === 'ready') break
    await sleep(20)
  }
  process.stdout.write(String(effects()))
  process.exit()
}
