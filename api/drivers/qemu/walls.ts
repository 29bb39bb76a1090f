import { DriverError } from '../driver.ts'
import type { DriverUse, Examination, Wall } from '../module.ts'
import { examine, type Isolation } from './examine.ts'
import { Layout } from './layout.ts'
import { GuestNetwork } from './network/guest-network.ts'

/** The walls around guests of QEMU, by the part of the isolation that each needs. */
const WALLS: Readonly<Record<keyof Isolation, Omit<Wall, 'gap'>>> = {
  users: {
    name: 'a user per server',
    stops: 'a guest that breaks out of QEMU is root, or reaches other guests',
    mend: 'Run the service as root, from a data folder that other users have access to. The start reports which folder or device prevents it.',
  },
  firewall: {
    name: 'firewall',
    stops: 'guests reach the services of this machine, including those on 127.0.0.1',
    mend: 'Install iproute2, nftables and passt, and run the service as root.',
  },
  network: {
    name: 'guest network',
    stops: 'guests share the addresses, ports and private networks of this machine',
    mend: 'Run the service as root, or as a user who may create user namespaces and open /dev/net/tun; install iproute2, nftables and passt. Machines from an earlier version: stop and start them; those whose guests use DHCP have to be created again.',
  },
  virtualization: {
    name: 'virtualization',
    stops:
      "guests can break out through bugs of the emulation, which QEMU's developers don't treat as security issues",
    mend: 'If permissions are not the reason, turn on virtualization in the firmware and load the module kvm_intel or kvm_amd; then set BERTH_ACCEL=kvm.',
  },
  confinement: {
    name: 'confinement',
    stops: 'a guest that breaks out of QEMU sees files and processes of this machine',
    mend: 'Run the service where it may create namespaces: on the host, or in a unit without RestrictNamespaces.',
  },
  limits: {
    name: 'limits',
    stops: 'one guest can use up the processor and memory of all, or one that breaks out of QEMU their disk',
    mend: 'Run the service as root where control groups for cpu, memory and pids can be created: on the host, or in a unit with Delegate=yes, and with CAP_SYS_RESOURCE.',
  },
}

/** @param isolation a sentence part if it was not examined */
export function wallsOf(isolation: Isolation | string): Wall[] {
  const gapOf = (part: keyof Isolation) =>
    typeof isolation === 'string' ? `not checked: ${isolation}` : isolation[part]
  return keysOf(WALLS).map((part) => ({ ...WALLS[part], gap: gapOf(part) }))
}

function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record) as Key[] // a literal of this file has no other keys
}

/** Tries everything that keeps guests in, also beside a service that runs machines. */
export async function examineWalls({ dataDir, accel }: DriverUse): Promise<Examination> {
  try {
    const { isolation, network } = await examine({ accel }, new Layout(dataDir), GuestNetwork.trial)
    return { walls: wallsOf(isolation), warning: network.warning, obstacle: null }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    return { walls: wallsOf(error.message), warning: null, obstacle: error.message }
  }
}
