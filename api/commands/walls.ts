import { existsSync } from 'node:fs'
import path from 'node:path'
import { Command } from 'commander'
import type { Catalog } from '../catalog/file.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { DriverError, type Isolation } from '../drivers/driver.ts'
import { examine } from '../drivers/qemu/examine.ts'
import { Layout } from '../drivers/qemu/layout.ts'
import { GuestNetwork } from '../drivers/qemu/network/guest-network.ts'
import { formatMoney } from '../money.ts'
import { catalogInForce } from './catalog.ts'
import { heldDrivers } from './compute.ts'
import { demoBalance } from './demo.ts'
import { type ReadConfig, withDatabase } from './operator.ts'
import { isLoopback } from './public-name.ts'

/** What was found on this machine and in this installation. */
export interface Facts {
  config: Pick<Config, 'host' | 'trustProxy'>
  /** Why servers are simulated, or some of them; null where all are real. */
  simulated: string | null
  /** Of QEMU; a sentence part where that was not examined. */
  isolation: Isolation | string
  /** Why servers share a kernel with others; null where none does. */
  containers: string | null
  /** What the demo account has. */
  demoBalance: number
  /** What should be mended of the network of guests, though no wall is missing; null: nothing. */
  warning: string | null
}

interface Wall {
  /** What is good, so that it reads well after "ok" and after "missing". */
  name: string
  stops: string
  /** What is missing of it, as a sentence part; null where it stands. */
  gap(facts: Facts): string | null
  mend: string
}

const guestWall = (part: keyof Isolation, name: string, stops: string, mend: string): Wall => ({
  name,
  stops,
  mend,
  gap: ({ isolation }) => (typeof isolation === 'string' ? `not checked: ${isolation}` : isolation[part]),
})

/** What has to stand between strangers as customers and this machine, its operator and each other. */
export const walls: readonly Wall[] = [
  {
    name: 'real servers',
    stops: 'customers pay for what does not exist',
    gap: ({ simulated }) => simulated,
    mend: 'Install QEMU, set BERTH_COMPUTE=qemu, take "driver: simulator" out of the catalogue, and delete simulated servers.',
  },
  guestWall(
    'users',
    'a user per server',
    'a guest that breaks out of QEMU is root, or meets other guests',
    'Run the service as root, from a data folder that other users may pass through. The start says which folder or device is in the way.',
  ),
  guestWall(
    'firewall',
    'firewall',
    "guests reach this machine's own services, also those on 127.0.0.1",
    'Install iproute2, nftables and passt, and run the service as root.',
  ),
  guestWall(
    'network',
    'guest network',
    'guests use addresses, ports and private networks of this machine as their own',
    'Run the service as root, or as a user who may make user namespaces and open /dev/net/tun; install iproute2, nftables and passt. Machines from an earlier version: stop and start them; those whose guests use DHCP have to be made anew.',
  ),
  guestWall(
    'virtualization',
    'virtualization',
    "emulation's faults let guests break out: QEMU's developers don't count these as security issues",
    'If permissions are not the reason, turn on virtualization in the firmware and load the module kvm_intel or kvm_amd; then set BERTH_ACCEL=kvm.',
  ),
  guestWall(
    'confinement',
    'confinement',
    'a guest that breaks out of QEMU sees files and processes of this machine',
    'Run the service where it may make namespaces: on the host, or in a unit without RestrictNamespaces.',
  ),
  guestWall(
    'limits',
    'limits',
    'one guest takes the processor and memory of all',
    'Run the service as root where control groups for cpu, memory and pids can be made: on the host, or in a unit with Delegate=yes.',
  ),
  {
    name: 'a kernel per server',
    stops: 'a guest that gets past the kernel, which all on its host share, is root there',
    gap: ({ containers }) => containers,
    mend: 'Take the zones with "driver: incus" out of the catalogue.',
  },
  {
    name: 'entry only by a proxy',
    stops: 'tokens cross networks as plain text',
    gap: plainHttp,
    mend: 'Set HOST=127.0.0.1 and BERTH_TRUST_PROXY=127.0.0.1, with a proxy for TLS before it: see TLS in docs/operating.md.',
  },
  {
    name: 'paid balances',
    stops: 'whoever finds the token of the demo account rents servers that nobody paid for',
    gap: ({ demoBalance }) =>
      demoBalance > 0 ? `the demo account has ${formatMoney(demoBalance)} RUB` : null,
    mend: 'Run: berthd account close demo@berth.local --reason unused --delete-servers',
  },
]

/** Who is not on this machine must come by a proxy, which speaks TLS. */
function plainHttp({ config: { host, trustProxy } }: Facts): string | null {
  if (isLoopback(host)) return null
  if (trustProxy.length === 0)
    return `HOST is ${host}, and BERTH_TRUST_PROXY names no proxy that speaks TLS before it`
  return trustProxy.every((range) => /^(127\.|::1\/)/.test(range))
    ? `HOST is ${host}, and the only proxies are on this machine: others can pass them by`
    : null
}

const missingOf = (facts: Facts) =>
  walls.flatMap(({ gap, ...wall }) => {
    const why = gap(facts)
    return why === null ? [] : [{ ...wall, why }]
  })

/** @throws ConfigError naming all walls that are missing */
export function requireWalls(facts: Facts): void {
  const missing = missingOf(facts)
  if (missing.length === 0) return
  const lines = missing.map(({ name, why, mend }) => `  ${name}: ${why.replace(/\.$/, '')}. ${mend}`)
  throw new ConfigError(
    `BERTH_PUBLIC (--public) is "on", but this installation is not safe for strangers as customers. Missing:\n${lines.join('\n')}\nberthd check looks again without starting; with BERTH_PUBLIC=off the service starts for people you trust.`,
  )
}

/**
 * Looks at all of it, without a service, or beside one.
 * @param db null where there is none yet
 */
export async function findFacts(config: Config, db: Database | null, catalog: Catalog): Promise<Facts> {
  const drivers = [...(db ? await heldDrivers(config, db) : []), ...catalog.zones.map(({ driver }) => driver)]
  const { isolation, warning } = await examine(config, new Layout(config.dataDir), GuestNetwork.trial).then(
    ({ isolation, network }) => ({ isolation, warning: network.warning }),
    (error: unknown) => {
      if (!(error instanceof DriverError)) throw error
      return { isolation: error.message, warning: null }
    },
  )
  return {
    config,
    simulated: simulatedOf(config, drivers.includes('simulator'), isolation),
    isolation,
    containers: containersOf(catalog),
    demoBalance: db ? await demoBalance(db) : 0,
    warning,
  }
}

function containersOf({ zones }: Catalog): string | null {
  const found = zones.filter(({ driver }) => driver === 'incus').map(({ zone_slug }) => zone_slug)
  return found.length === 0 ? null : `servers of ${found.join(', ')} are containers`
}

function simulatedOf(config: Config, isBeside: boolean, isolation: Facts['isolation']): string | null {
  if (config.compute === 'simulator') return 'BERTH_COMPUTE is "simulator"'
  if (isBeside) return 'a zone, or servers that are there, have the driver simulator'
  return typeof isolation === 'string' ? isolation : null
}

export function checkCommand(config: ReadConfig): Command {
  return new Command('check')
    .description('check whether this machine is safe for strangers as customers, as BERTH_PUBLIC=on requires')
    .action(async () => {
      const parsed = config()
      const { catalog } = await catalogInForce(parsed)
      const look = (db: Database | null) => findFacts(parsed, db, catalog)
      const isInstalled = parsed.databaseUrl !== null || existsSync(path.join(parsed.dataDir, 'berth.db'))
      const facts = isInstalled ? await withDatabase(parsed, 'check', look) : await look(null)
      for (const line of reportOf(facts)) console.log(line)
      if (facts.warning !== null) console.log(`warning  ${facts.warning}.`)
      const count = missingOf(facts).length
      if (count > 0)
        throw new CommandError(
          `Not safe for strangers as customers: ${count} of ${walls.length} are missing. BERTH_PUBLIC=on refuses to start.`,
        )
      console.log('Ready for strangers as customers, behind a proxy that speaks TLS: set BERTH_PUBLIC=on.')
    })
}

function reportOf(facts: Facts): string[] {
  return walls.flatMap(({ name, stops, gap, mend }) => {
    const why = gap(facts)
    if (why === null) return [`ok       ${name}`]
    return [`missing  ${name}: ${why.replace(/\.$/, '')}.`, `         Without it ${stops}. ${mend}`]
  })
}
