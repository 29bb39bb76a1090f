import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { countEffects } from './test-effects.ts'

const PART = 2 ** 20

/**
 * For tests: a process that receives a customer's file in parts, as an upload and a download do, makes an image of it,
 * and kills itself at one of its effects. Arguments: the data folder, the file, the image, the bytes that were received
 * before, and the number of the effect (0: none). Prints the bytes after each part, then how many effects there were.
 */
const [, , dataDir = '', file = '', imageId = '', received, killAt] = process.argv
if (import.meta.main) {
  const effects = countEffects(Number(killAt))
  const { readFile } = await import('node:fs/promises')
  const { openSnapshots } = await import('./test-snapshots.ts')
  const { snapshots } = await openSnapshots(dataDir)
  await snapshots.adopt()
  const content = await readFile(file)
  for (let at = Number(received); at < content.length; at += PART) {
    await snapshots.receive(imageId, at, partOf(content, at))
    writeSync(1, `${Math.min(at + PART, content.length)}\n`)
  }
  for (;;) {
    const state = await snapshots.import(imageId, { owner: 'ann', bytes: content.length, sha256: null })
    if (state.state === 'failed') throw new Error(state.message)
    if (state.state === 'ready') break
    await sleep(20)
  }
  writeSync(1, `effects ${effects()}\n`)
  process.exit()
}

/** Two chunks, so that a kill can come between them. */
async function* partOf(content: Buffer, at: number): AsyncGenerator<Buffer> {
  const middle = at + PART / 2
  yield content.subarray(at, middle)
  yield content.subarray(middle, at + PART)
}
