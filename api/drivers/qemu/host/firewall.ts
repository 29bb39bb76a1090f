import { createServer } from 'node:net'
import { errorCode } from '../../../files.ts'
import { messageOf } from '../../../message-of.ts'
import { FIRST_UID, LAST_UID } from './owner.ts'
import { nameservers } from './resolver.ts'
import { run } from './run.ts'

const LIMIT_MS = 10_000

/**
 * The destinations that machines' users may not connect to. A guest's connections are made by its passt (or its
 * QEMU), which runs as the machine's own user. Without these rules, a guest that sends packets for 127.0.0.1 through
 * its gateway would reach the host's loopback, its other addresses, and a cloud's metadata service.
 */
function rules(nameservers: readonly string[]): string {
  const dns = nameservers.map((address) => `ip daddr ${address} meta l4proto { tcp, udp } th dport 53 accept`)
  return `
add table inet berth
delete table inet berth
table inet berth {
  chain output {
    type filter hook output priority filter; policy accept;
    meta skuid ${FIRST_UID}-${LAST_UID} jump guest
  }
  chain guest {
    ct direction reply accept
    ${dns.join('\n    ')}
    fib daddr type { local, broadcast, multicast } jump refuse
    ip daddr { 127.0.0.0/8, 169.254.0.0/16 } jump refuse
  }
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject
  }
}
`
}

/**
 * Installs the rules and verifies that they work.
 * @returns null, or the reason why guests are not kept away from this host
 */
export async function raiseFirewall(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'the service is not root'
  try {
    await run(['nft', '-f', '-'], rules(await nameservers()), { limitMs: LIMIT_MS })
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'nft is missing; install the package nftables'
    return `nft refused the rules: ${messageOf(error).split('; ')[0]}`
  }
  // The same attempt must succeed for other users and fail for a machine's user.
  const { port, close } = await listen()
  try {
    if (!(await reaches(port, 0))) return 'the rules could not be tested'
    return (await reaches(port, FIRST_UID)) ? 'the rules have no effect on this kernel' : null
  } finally {
    close()
  }
}

function listen(): Promise<{ port: number; close: () => void }> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve({ port: typeof address === 'object' ? (address?.port ?? 0) : 0, close: () => server.close() })
    })
  })
}

/** True if a process of this user can connect to a port on this host's loopback. */
async function reaches(port: number, uid: number): Promise<boolean> {
  const command = ['/bin/bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${port}`]
  return run(command, '', { owner: { uid, gid: uid }, limitMs: LIMIT_MS }).then(
    () => true,
    () => false,
  )
}
