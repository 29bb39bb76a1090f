import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Ports below the kernel's ephemeral range, apart from those that services publish at. */
const [FIRST, LAST] = [10_000, 19_999]

/**
 * A port of this host that nobody listens on, and that no other test gets before this process ends: one that is merely
 * free for a moment may be somebody else's by the time it is used.
 */
export async function claimPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1)
    // A name of the kernel's own, of which there is one, and none once its process is gone, however that ended.
    if ((await listens({ path: `\0berth-test-port-${port}` }, true)) && (await listens({ port }, false)))
      return port
  }
}

function listens(place: { path: string } | { port: number }, isKept: boolean): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(place, () => {
      if (isKept) server.unref()
      if (isKept) resolve(true)
      else server.close(() => resolve(true))
    })
  })
}
