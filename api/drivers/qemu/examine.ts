import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../../message-of.ts'
import { DriverError } from '../driver.ts'
import { MOST_VOLUME_GB } from '../volumes.ts'
import { type Accel, type AccelChoice, chooseAccel, QEMU } from './host/accel.ts'
import { Cgroups } from './host/cgroup.ts'
import { raisesLimits, wallsObstacle } from './host/confine.ts'
import { raiseFirewall } from './host/firewall.ts'
import { machineOwner, ownerObstacle } from './host/owner.ts'
import { run } from './host/run.ts'
import type { Layout } from './layout.ts'
import { agedPasta } from './network/pasta-uplink.ts'
import { chooseNetwork, type NetworkKind, UNSEPARATED } from './passt.ts'
import { runningApart } from './running.ts'

/**
 * The protections of the host and of guests from each other. Each is null if it works, or else the reason why not, as
 * part of a sentence.
 */
export interface Isolation {
  /** Each machine's processes have a user of their own. */
  users: string | null
  /** Guests can't reach what listens on the host. */
  firewall: string | null
  /** Guests take no part in the host's network. */
  network: string | null
  /** The processor's virtualization separates guests; emulation is not designed for that. */
  virtualization: string | null
  /** QEMU sees no files and processes of the host but its machine's. */
  confinement: string | null
  /** A machine can't take more of the host than its size. */
  limits: string | null
}

export interface Examined {
  version: string
  choice: AccelChoice
  network: { kind: NetworkKind; warning: string | null }
  isolation: Isolation
  /** The reason why machines can't run as users of their own, as part of a sentence. */
  ownerObstacle: string | null
}

/**
 * Examines what this host offers for machines. Each part is tried and not just looked up, which is safe while a
 * service runs machines.
 * @param openNetwork opens the network of all guests, or tries to
 * @throws DriverError unavailable, with what to do
 */
export async function examine(
  wanted: { accel: 'auto' | Accel; network?: NetworkKind | undefined },
  layout: Layout,
  openNetwork: () => Promise<void>,
): Promise<Examined> {
  const version = await qemuVersion()
  const choice = await chooseAccel(wanted.accel, layout.kvmMemory)
  const users = ownerObstacle(layout.machines, choice.accel)
  const firewall = await raiseFirewall()
  // The firewall identifies machines by their users. With slirp, QEMU makes the connections, and it only has a user
  // of its own if nothing prevents that.
  const own = await chooseNetwork({ passt: firewall, slirp: firewall ?? users }, wanted.network)
  const gap = wanted.network
    ? `${wanted.network} was requested`
    : await openNetwork().then(() => null, messageOf)
  const network = {
    kind: own.kind,
    warning: gap === null ? await aged() : [own.warning, lacking(own.kind, gap)].filter(Boolean).join('. '),
  }
  const trial = await Cgroups.open(`berth-trial-${process.pid}`)
  await trial.close()
  const isolation = {
    users: users ?? leftAsRoot(layout),
    firewall: gap && (own.kind === 'slirp' ? (firewall ?? users) : firewall),
    network: gap ? `${UNSEPARATED[own.kind]} (${gap})` : await leftApart(layout),
    virtualization: choice.accel === 'kvm' ? null : choice.reason,
    confinement: await wallsObstacle(QEMU, layout.walls, users === null ? machineOwner('trial') : null),
    limits:
      trial.missing.length > 0
        ? `no control groups for ${trial.missing.join(', ')}`
        : raisesLimits()
          ? null
          : `the service may not raise limits of programs, so files of machines may grow to ${MOST_VOLUME_GB} GB`,
  }
  return { version, choice, network, isolation, ownerObstacle: users }
}

/** Warns if an ordinary user's pasta is too old. */
async function aged(): Promise<string | null> {
  return process.getuid?.() === 0 ? null : agedPasta(await run(['pasta', '--version']))
}

function lacking(kind: NetworkKind, gap: string): string {
  const lost =
    'there are no firewalls or private networks, published ports open only at the next start, and no connection of a guest can be traced'
  return `Guests share the network of this machine, by ${kind}, so ${lost}: ${gap}`
}

/** Warns about machines that still run on the network of an earlier version. */
async function leftApart(layout: Layout): Promise<string | null> {
  const found = await runningApart(layout)
  return found.length === 0 ? null : `on the network of an earlier version: ${found.join(', ')}`
}

/** Warns about machines that an earlier version started as root and that still run. */
function leftAsRoot(layout: Layout): string | null {
  const found = readdirSync(layout.machines).filter((serverId) => {
    try {
      const pid = Number(readFileSync(join(layout.files(serverId).run, 'qemu.pid'), 'utf8'))
      const isIt = readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(serverId)
      return isIt && /^Uid:\s+(\d+\s+)?0\s/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    } catch {
      return false // the machine is off
    }
  })
  return found.length === 0 ? null : `running as root until stopped and started: ${found.join(', ')}`
}

async function qemuVersion(): Promise<string> {
  try {
    await promisify(execFile)('qemu-img', ['--version'], { timeout: 10_000 })
    const { stdout } = await promisify(execFile)(QEMU, ['--version'], { timeout: 10_000 })
    return /version (\d+(?:\.\d+)+)/.exec(stdout)?.[1] ?? basename(QEMU)
  } catch (error) {
    throw new DriverError(
      'unavailable',
      'QEMU is not installed. Install it (Debian, Ubuntu: qemu-system-x86 qemu-utils; Fedora: qemu-kvm qemu-img).',
      { cause: error },
    )
  }
}
