import { IncusClient } from './client.ts'
import type { IncusZone } from './zone.ts'

/**
 * For tests: a process that boots a snapshot until the result is known, ends the trial, and kills itself at one of its
 * changes to the cluster. Arguments: the zone and the machine as JSON, the snapshot, the number of the change (0:
 * none), and whether it dies before or after it sends the change. Prints how many changes there were.
 */
const [, , zone = '', machine = '', snapshotId = '', killAt, moment] = process.argv
if (import.meta.main) {
  let changes = 0
  const { call } = IncusClient.prototype
  IncusClient.prototype.call = async function (method, path, sent) {
    const isLast = method !== 'GET' && ++changes === Number(killAt)
    if (isLast && moment === 'before') process.kill(process.pid, 'SIGKILL')
    const reply = await call.call(this, method, path, sent)
    if (isLast) process.kill(process.pid, 'SIGKILL')
    return reply
  }
  const { openIncus } = await import('./open.ts')
  const ignore = () => {}
  const log = { info: ignore, warn: ignore, error: ignore }
  const driver = await openIncus({ zone: JSON.parse(zone) as IncusZone, address: '127.0.0.1', log }) // as the test sends it
  const isGoing = async () => {
    const { state } = await driver.trySnapshot(snapshotId, JSON.parse(machine))
    if (state === 'failed') throw new Error(state)
    return state === 'booting' || state === 'queued'
  }
  while (await isGoing()) await new Promise((resolve) => setTimeout(resolve, 100))
  await driver.endTrial(snapshotId)
  process.stdout.write(String(changes))
  process.exit()
}
