import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode, exists } from '../../files.ts'
import { DriverError, type Forward, type GuestAddress } from '../driver.ts'
import { escaped } from './command.ts'
import { machineOwner } from './host/owner.ts'
import { findByArgument, killVerified, spawnDetached } from './host/process.ts'

/** What both kinds of network give every guest: each has one of its own, so all may have the same. */
export const GUEST_ADDRESS: GuestAddress = { address: '10.0.2.15', prefixLength: 24, gateway: '10.0.2.2' }
const DNS = '10.0.2.3'

const PASST = 'passt'

/**
 * How guests reach the network without any right on the host. `passt`: a process per machine. `slirp`: inside QEMU,
 * where the gateway's address stands for the host's 127.0.0.1. Both make a guest's connections as the host's own, so
 * that only the firewall keeps guests away from the host; passt's gateway at least does not lead there by itself.
 */
export type NetworkKind = 'passt' | 'slirp'

/**
 * passt where it works: it needs user namespaces, which some hosts refuse.
 * @param unguarded why the firewall does not keep guests away from this host, by the kind; null where it does
 */
export async function chooseNetwork(
  unguarded: Record<NetworkKind, string | null>,
  wanted?: NetworkKind,
): Promise<{ kind: NetworkKind; warning: string | null }> {
  const warning = (kind: NetworkKind) => unguarded[kind] && `${UNGUARDED} (${unguarded[kind]})`
  if (wanted === 'slirp') return { kind: 'slirp', warning: warning('slirp') }
  const trial = await mkdtemp(join(tmpdir(), 'berth-net-'))
  try {
    await startPasst('trial', trial, { address: '127.0.0.1', forwards: [] }, '/dev/null')
    await stopPasst(trial)
    return { kind: 'passt', warning: warning('passt') }
  } catch (error) {
    const reason =
      errorCode(error) === 'ENOENT'
        ? 'passt is missing; install the package passt'
        : 'passt does not work here'
    return { kind: 'slirp', warning: unguarded.slirp && `${warning('slirp')}; ${reason}` }
  } finally {
    await rm(trial, { recursive: true, force: true })
  }
}

const UNGUARDED =
  'Guests can reach services of this machine, also those on 127.0.0.1: do not rent servers to the public here'

/** What of this host leads into a guest. */
export interface WaysIn {
  address: string
  forwards: readonly Forward[]
}

/** The value of QEMU's -netdev. */
export function netdev(kind: NetworkKind, sockets: string, { address, forwards }: WaysIn): string {
  if (kind === 'slirp') {
    const ways = forwards.map((to) => `,hostfwd=${to.protocol}:${address}:${to.hostPort}-:${to.guestPort}`)
    return `user,id=n0,ipv6=off${ways.join('')}`
  }
  return `stream,id=n0,server=off,addr.type=unix,addr.path=${escaped(passtSocket(sockets))}`
}

function passtSocket(sockets: string): string {
  return join(sockets, 'passt.sock')
}

/**
 * Starts a machine's passt and waits until QEMU can connect to it. It ends by itself with its QEMU (`-1`).
 * @returns its pid
 * @throws DriverError port_taken, start_failed
 */
export async function startPasst(
  serverId: string,
  sockets: string,
  { address, forwards }: WaysIn,
  log: string,
): Promise<number> {
  const owner = process.getuid?.() === 0 ? machineOwner(serverId) : null
  if (owner) await chown(sockets, owner.uid, owner.gid)
  const socket = passtSocket(sockets)
  await rm(socket, { force: true })
  const ports = forwards.map(({ hostPort, guestPort }) => `${address}/${hostPort}:${guestPort}`)
  const args = [
    ...['--foreground', '-1', '--quiet', '-4', '-s', socket],
    ...['-a', GUEST_ADDRESS.address, '-n', String(GUEST_ADDRESS.prefixLength), '-g', GUEST_ADDRESS.gateway],
    ...['-D', DNS, '--dns-forward', DNS],
    // The guest's gateway must not stand for this host, and nothing else leads inwards.
    ...[
      '--no-map-gw',
      ...(ports.length > 0 ? ports : ['none']).flatMap((port) => ['-t', port]),
      '-u',
      'none',
    ],
    // Started as root it would become "nobody", who owns other things too.
    ...(owner ? ['--runas', `${owner.uid}:${owner.gid}`] : []),
  ]
  const { pid, exited } = await spawnDetached(PASST, args, log, null)
  let ended = false
  void exited.then(() => {
    ended = true
  })
  const deadline = performance.now() + 5000
  while (!ended && performance.now() < deadline) {
    if (await exists(socket)) return pid
    await sleep(5)
  }
  await stopPasst(sockets)
  throw new DriverError('start_failed', 'The network of the machine did not start (passt)')
}

/** Ends a machine's passt, if one is left. */
export async function stopPasst(sockets: string): Promise<void> {
  const mark = passtSocket(sockets)
  const found = findByArgument(mark)
  if (found && !(await killVerified(found, mark)))
    throw new DriverError('unavailable', `Process ${found.pid} (passt) cannot be ended`)
}

/** Whether a program's last words say that one of the machine's ports is not free. */
export function saysPortTaken(words: string): boolean {
  return /Could not set up host forwarding rule|Failed to bind any port/.test(words)
}
