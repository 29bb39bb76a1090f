import { setTimeout as sleep } from 'node:timers/promises'

// Loaded into a service ahead of it (node --expose-gc --import): at SIGUSR2 it collects garbage and prints its
// memory.
let times = 0
process.on('SIGUSR2', async () => {
  // A second collection frees what the first one finalizes.
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.()
    await sleep(50)
  }
  const { rss, heapTotal, heapUsed } = process.memoryUsage()
  times += 1
  // The heap keeps memory in reserve that garbage once needed, which is not growth.
  console.log(`memory ${times}: ${(rss - (heapTotal - heapUsed)) / 2 ** 20} MB`)
})
