import { execFile } from 'node:child_process'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode, exists } from '../../files.ts'
import { RANGE4, RESOLVER } from '../addresses.ts'
import { DriverError, type GuestAddress, type PublishedPort } from '../driver.ts'
import { escaped } from './command.ts'
import { withoutRights } from './host/confine.ts'
import { machineOwner } from './host/owner.ts'
import { findByArgument, isReadyWithin, killVerified, spawnDetached } from './host/process.ts'
import type { MachineRecord } from './layout.ts'

/**
 * The addresses that guests of earlier versions got by DHCP. Each has a network of its own, so all may have the same.
 */
const OLD = {
  guest: { address: '10.0.2.15', prefixLength: 24, gateway: '10.0.2.2' },
  range: '10.0.2.0/24',
  resolver: '10.0.2.3',
}

const PASST = 'passt'
const START_MS = 30_000
/** The limit of passt's log, which a guest can fill. */
const LOG_BYTES = 2 * 2 ** 20

/**
 * The ways in which guests reach the network without any rights on the host. `passt` is a process for each machine.
 * `slirp` is inside QEMU, and its gateway's address stands for the host's 127.0.0.1. Both open a guest's connections
 * as the host's own, so that only the firewall keeps guests away from the host; passt's gateway at least does not
 * lead there by itself.
 */
export type NetworkKind = 'passt' | 'slirp'

/** The reason why guests share the host's own network. */
export const UNSEPARATED: Record<NetworkKind, string> = {
  passt:
    "a process of this host makes guests' connections: UDP source ports, private networks and connection tracking are shared with the host",
  slirp: "QEMU makes guests' connections as this host's own",
}

/**
 * Chooses passt if it works: it needs user namespaces, which some hosts refuse.
 * @param unguarded the reason why the firewall does not keep guests away from this host, by kind; null if it does
 */
export async function chooseNetwork(
  unguarded: Record<NetworkKind, string | null>,
  wanted?: NetworkKind,
): Promise<{ kind: NetworkKind; warning: string | null }> {
  const warning = (kind: NetworkKind) => unguarded[kind] && `${UNGUARDED} (${unguarded[kind]})`
  if (wanted === 'slirp') return { kind: 'slirp', warning: warning('slirp') }
  const trial = await mkdtemp(join(tmpdir(), 'berth-net-'))
  try {
    await promisify(execFile)(PASST, ['--version'])
    await startPasst('trial', trial, { address: '127.0.0.1', ports: [], ...OLD }, '/dev/null')
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
  'Guests can reach services of this machine, including those on 127.0.0.1: do not rent servers to the public here'

/** The host's ports that lead into a guest, and the guest's address. */
export interface WaysIn {
  address: string
  ports: readonly PublishedPort[]
  guest: GuestAddress
  range: string
  resolver: string
}

export function waysIn({ spec, network }: MachineRecord, address: string): WaysIn {
  const ports = network?.ports ?? []
  const guest = spec.interfaces[0]?.addresses.find(({ address }) => isIPv4(address))
  return guest ? { address, ports, guest, range: RANGE4, resolver: RESOLVER } : { address, ports, ...OLD }
}

/** Returns the value of QEMU's -netdev. */
export function netdev(kind: NetworkKind | 'none', sockets: string, ways: WaysIn): string {
  // A hub with one port leads nowhere.
  if (kind === 'none') return 'hubport,id=n0,hubid=0'
  if (kind === 'slirp') {
    const { address, guest, range, resolver } = ways
    const place = `net=${range},host=${guest.gateway},dns=${resolver},dhcpstart=${guest.address}`
    const ports = ways.ports.map(
      (to) => `,hostfwd=${to.protocol}:${address}:${to.hostPort}-${guest.address}:${to.port}`,
    )
    return `user,id=n0,ipv6=off,${place}${ports.join('')}`
  }
  return `stream,id=n0,server=off,addr.type=unix,addr.path=${escaped(passtSocket(sockets))}`
}

function passtSocket(sockets: string): string {
  return join(sockets, 'passt.sock')
}

/**
 * Starts a machine's passt and waits until QEMU can connect to it. It ends together with its QEMU (`-1`).
 * @returns its pid
 * @throws DriverError port_taken, start_failed
 */
export async function startPasst(
  serverId: string,
  sockets: string,
  { address, ports, guest, resolver }: WaysIn,
  log: string,
): Promise<number> {
  const owner = process.getuid?.() === 0 ? machineOwner(serverId) : null
  if (owner) await chown(sockets, owner.uid, owner.gid)
  const socket = passtSocket(sockets)
  await rm(socket, { force: true })
  const published = (wanted: 'tcp' | 'udp') => {
    const ways = ports.filter(({ protocol }) => protocol === wanted)
    return ways.length === 0 ? ['none'] : ways.map(({ hostPort, port }) => `${address}/${hostPort}:${port}`)
  }
  const args = [
    ...['--foreground', '-1', '--quiet', '-4', '-s', socket],
    ...['-a', guest.address, '-n', String(guest.prefixLength), '-g', guest.gateway],
    ...['-D', resolver, '--dns-forward', resolver],
    // The guest's gateway must not stand for this host, and no other way leads into the guest.
    '--no-map-gw',
    ...published('tcp').flatMap((port) => ['-t', port]),
    ...published('udp').flatMap((port) => ['-u', port]),
  ]
  const [program = '', ...rest] = withoutRights([PASST, ...args], owner, LOG_BYTES)
  const { pid, exited } = await spawnDetached(program, rest, log)
  if (await isReadyWithin(START_MS, exited, () => exists(socket))) return pid
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

/** True if a program's last words report that one of the machine's ports is taken. */
export function saysPortTaken(words: string): boolean {
  return /Could not set up host forwarding rule|Failed to bind any port/.test(words)
}
