import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { FIRST_UID, LAST_UID } from './owner.ts'

/**
 * What the users of machines may not connect to. A guest's connections are made by its passt (or its QEMU), which
 * runs as a user of the machine's own; a guest that sends packets for 127.0.0.1 through its gateway would otherwise
 * reach whatever listens there, as would one that names the host's own address or a cloud's metadata service.
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
 * Puts up the rules and makes sure that they hold.
 * @returns null, or why guests are not kept away from this host
 */
export async function raiseFirewall(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'the service is not root'
  const failure = await run('nft', ['-f', '-'], rules(await nameservers()))
  if (failure === 'ENOENT') return 'nft is missing; install the package nftables'
  if (failure) return `nft refused the rules: ${failure.trim().split('\n')[0]}`
  // Trust, but verify: the same attempt must work for others, and must not for a machine's user.
  const { port, close } = await listen()
  try {
    if (!(await reaches(port, 0))) return 'the rules could not be tested'
    return (await reaches(port, FIRST_UID)) ? 'the rules have no effect on this kernel' : null
  } finally {
    close()
  }
}

async function nameservers(): Promise<string[]> {
  const text = await readFile('/etc/resolv.conf', 'utf8').catch(() => '')
  return [...text.matchAll(/^nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm)].map(([, address]) => address ?? '')
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

/** Whether a process of this user can connect to a port of this host's loopback. */
async function reaches(port: number, uid: number): Promise<boolean> {
  return (await run('/bin/bash', ['-c', `exec 3<>/dev/tcp/127.0.0.1/${port}`], '', uid)) === null
}

/** @returns null where it ended well, else its error's code or words */
function run(program: string, args: string[], input: string, uid = 0): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      uid,
      gid: uid,
      cwd: '/',
      timeout: 10_000,
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    let words = ''
    child.stderr.on('data', (text) => {
      words += text
    })
    child.once('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    child.once('close', (code) => resolve(code === 0 ? null : words || `it ended with ${code}`))
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}
