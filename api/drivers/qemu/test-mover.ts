import { countEffects } from './test-effects.ts'

/**
 * For tests: a process that moves a volume from one machine to another, grows it and moves it back, and kills itself at
 * one of its effects. Arguments: the data folder, the volume, its new size, the two machines, and the number of the
 * effect (0: none). Prints how many effects there were.
 */
const [, , dataDir = '', id = '', sizeGb, from = '', to = '', killAt] = process.argv
if (import.meta.main) {
  const effects = countEffects(Number(killAt))
  const { openSnapshots } = await import('./test-snapshots.ts')
  const { volumes } = await openSnapshots(dataDir)
  await volumes.detachVolume(id, from)
  await volumes.attachVolume(id, to)
  await volumes.volume(id, Number(sizeGb))
  await volumes.attachVolume(id, from)
  process.stdout.write(String(effects()))
  process.exit()
}
