import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Ports below the kernel's ephemeral range, apart from those that services publish. */
const [FIRST, LAST] = [10_000, 19_999]

/**
 * Reserves a free port of this host until this process ends. A port that is merely free at the moment may be taken by
 * another test before it is used.
 */
export async function claimPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1)
    // An abstract socket is unique on the host, and the kernel removes it even after a crash.
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
