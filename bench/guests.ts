import { execFile, spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { microImage } from '../api/drivers/qemu/images/test-image.ts'
import { asUser, NetworkWorld } from '../api/drivers/qemu/network/test-world.ts'

const LIMIT_MS = 20 * 60_000
const main = new URL('./hostile-guest.ts', import.meta.url).pathname

const USER = 4242

/**
 * Shows what a hostile guest with root reaches: two guests booted by a service that is root, and by an ordinary
 * user's, with a network of their own and, if the user can't open /dev/net/tun, with a passt for each. Needs root, to
 * play the internet and to become that user; nothing leaves the machine.
 */
export async function benchGuests(): Promise<void> {
  for (const [as, tunMode] of [
    ['root', 666],
    ['user', 666],
    ['user', 600],
  ] as const) {
    const world = await NetworkWorld.open('root')
    const folder = mkdtempSync(join(tmpdir(), 'berth-guests-'))
    try {
      const { disk } = await microImage()
      const [, store = ''] = /^(.*)\/images\//.exec(disk) ?? []
      mkdirSync(join(folder, 'cache'))
      cpSync(join(store, 'images'), join(folder, 'cache/images'), { recursive: true })
      if (as === 'user') await promisify(execFile)('chown', ['-R', `${USER}:${USER}`, folder])
      chmodSync(folder, 0o711)
      // ssh runs for users that have a name only.
      const named = `cp /etc/passwd $0/passwd && echo "berth:x:${USER}:${USER}::$0:/bin/sh" >> $0/passwd && mount --bind $0/passwd /etc/passwd && exec "$@"`
      const become = as === 'user' ? ['unshare', '-m', 'sh', '-c', named, folder, ...asUser(tunMode)] : []
      const [program = '', ...args] = [...world.onHostPrefix, ...become, process.execPath, main]
      console.log(`\n== The service is ${as === 'root' ? 'root' : 'an ordinary user'}`)
      const child = spawn(program, args, {
        env: { ...process.env, HOME: folder, TMPDIR: folder, BERTH_TEST_CACHE: join(folder, 'cache') },
        stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
        timeout: LIMIT_MS,
      })
      child.on(
        'message',
        ({ id, who, order }: { id: number; who: 'internet' | 'host'; order: { do: string } }) =>
          world[who].tell(order).then(
            (value) => child.send({ id, value }),
            (error: Error) => child.send({ id, error: error.message }),
          ),
      )
      await new Promise((resolve) => child.once('exit', resolve))
    } finally {
      await world.close()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
