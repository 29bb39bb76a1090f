import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../../message-of.ts'
import { DriverError, type Isolation } from '../driver.ts'
import { type Accel, type AccelChoice, chooseAccel, QEMU } from './host/accel.ts'
import { Cgroups } from './host/cgroup.ts'
import { wallsObstacle } from './host/confine.ts'
import { raiseFirewall } from './host/firewall.ts'
import { machineOwner, ownerObstacle } from './host/owner.ts'
import { run } from './host/run.ts'
import type { Layout } from './layout.ts'
import { agedPasta } from './network/pasta-uplink.ts'
import { chooseNetwork, type NetworkKind, UNSEPARATED } from './passt.ts'
import { runningApart } from './running.ts'

export interface Examined {
  version: string
  choice: AccelChoice
  network: { kind: NetworkKind; warning: string | null }
  isolation: Isolation
  /** Why machines can't run as users of their own, as a sentence part. */
  ownerObstacle: string | null
}

/**
 * What this host has for machines: each part is tried, not only looked up. Safe beside a service that runs machines.
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
  // The firewall knows machines by their users; slirp is QEMU itself, which has one only where nothing stands against it.
  const own = await chooseNetwork({ passt: firewall, slirp: firewall ?? users }, wanted.network)
  const gap = wanted.network
    ? `${wanted.network} was asked for`
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
    limits: trial.missing.length === 0 ? null : `no control groups for ${trial.missing.join(', ')}`,
  }
  return { version, choice, network, isolation, ownerObstacle: users }
}

/** Of the way out that ordinary users have. */
async function aged(): Promise<string | null> {
  return process.getuid?.() === 0 ? null : agedPasta(await run(['pasta', '--version']))
}

function lacking(kind: NetworkKind, gap: string): string {
  const lost =
    'there are no firewalls and private networks, and a port that is published opens at the next start'
  return `Guests share the network of this machine, by ${kind}, so ${lost}: ${gap}`
}

/** Machines that run on what a version before this one gave them. */
async function leftApart(layout: Layout): Promise<string | null> {
  const found = await runningApart(layout)
  return found.length === 0 ? null : `on the network of an earlier version: ${found.join(', ')}`
}

/** Machines that a version before this one started as root, and that run on. */
function leftAsRoot(layout: Layout): string | null {
  const found = readdirSync(layout.machines).filter((serverId) => {
    try {
      const pid = Number(readFileSync(join(layout.files(serverId).run, 'qemu.pid'), 'utf8'))
      const isIt = readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(serverId)
      return isIt && /^Uid:\s+(\d+\s+)?0\s/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    } catch {
      return false // it is off
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
