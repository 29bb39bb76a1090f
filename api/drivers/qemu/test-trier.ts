import { countEffects } from './test-effects.ts'

/**
 * For tests: a process that begins a trial of a snapshot, looks at it and ends it, and kills itself at one of its
 * effects. Arguments: the data folder, the snapshot, and the number of the effect (0: none). Prints how many effects
 * there were.
 */
const [, , dataDir = '', snapshotId = '', killAt] = process.argv
if (import.meta.main) {
  const effects = countEffects(Number(killAt))
  const { openSnapshots } = await import('./test-snapshots.ts')
  const { trials } = (await openSnapshots(dataDir)).snapshots
  const machine = {
    ...{ owner: 'ann', hostname: 'tried', cpu: 1, ramMb: 128, diskGb: 1, cpuType: 'amd' as const },
    ...{ diskId: 'first', instanceId: 'tried', username: 'ann' },
    interfaces: [{ mac: '52:54:00:12:34:99', addresses: [] }],
  }
  for (let looks = 0; looks < 2; looks++) {
    const { state } = await trials.state(snapshotId, machine)
    if (state !== 'booting') throw new Error(state)
  }
  await trials.end(snapshotId)
  process.stdout.write(String(effects()))
  process.exit()
}
