import { setTimeout as sleep } from 'node:timers/promises'

// Loaded into a service ahead of it (node --expose-gc --import): at SIGUSR2 it tidies up and tells what it holds.
let times = 0
process.on('SIGUSR2', async () => {
  // A second collection frees what the first one finalizes.
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.()
    await sleep(50)
  }
  const { rss, heapTotal, heapUsed } = process.memoryUsage()
  times += 1
  // The heap keeps in reserve what it once needed for garbage: that is no growth.
  console.log(`memory ${times}: ${(rss - (heapTotal - heapUsed)) / 2 ** 20} MB`)
})
