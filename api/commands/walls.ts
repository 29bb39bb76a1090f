import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { Command } from 'commander'
import type { Catalog } from '../catalog/file.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Examination, Wall } from '../drivers/module.ts'
import { defaultModule, type Module, modules } from '../drivers/modules/modules.ts'
import { formatMoney } from '../money.ts'
import { catalogInForce } from './catalog.ts'
import { heldDrivers } from './compute.ts'
import { demoBalance } from './demo.ts'
import { isInstalled } from './installation.ts'
import { type ReadConfig, withDatabase } from './operator.ts'
import { isLoopback } from './public-name.ts'

/** The walls of an installation, each with its missing part. */
export interface Walls {
  walls: readonly Wall[]
  /** Faults of this machine that break no wall. */
  warnings: readonly string[]
}

/** Examines the walls that do not depend on drivers. */
export function ownWalls(
  config: Pick<Config, 'host' | 'trustProxy'>,
  { balance }: { balance: number },
): Wall[] {
  return [
    {
      name: 'entry only by a proxy',
      stops: 'tokens cross networks as plain text',
      mend: 'Set HOST=127.0.0.1 and BERTH_TRUST_PROXY=127.0.0.1, and run a proxy with TLS in front of the service: see TLS in docs/operating.md.',
      gap: plainHttp(config),
    },
    {
      name: 'paid balances',
      stops: 'anyone who finds the token of the demo account can rent servers that nobody paid for',
      mend: 'Run: berthd account close demo@berth.local --reason unused --delete-servers --yes',
      gap: balance > 0 ? `the demo account has ${formatMoney(balance)} RUB` : null,
    },
  ]
}

/** Clients on other machines must come through a proxy, which speaks TLS. */
function plainHttp({ host, trustProxy }: Pick<Config, 'host' | 'trustProxy'>): string | null {
  if (isLoopback(host)) return null
  if (trustProxy.length === 0)
    return `HOST is ${host}, and BERTH_TRUST_PROXY names no TLS proxy in front of it`
  return trustProxy.every((range) => /^(127\.|::1\/)/.test(range))
    ? `HOST is ${host}, and the only proxies are on this machine: others can bypass them`
    : null
}

const missingOf = ({ walls }: Pick<Walls, 'walls'>) =>
  walls.flatMap(({ gap, ...wall }) => (gap === null ? [] : [{ ...wall, gap: gap.replace(/\.$/, '') }]))

/** @throws ConfigError naming all walls that are missing */
export function requireWalls(found: Pick<Walls, 'walls'>): void {
  const missing = missingOf(found)
  if (missing.length === 0) return
  const lines = missing.map(({ name, gap, mend }) => `  ${name}: ${gap}. ${mend}`)
  throw new ConfigError(
    `BERTH_PUBLIC (--public) is "on", but this installation is not safe for strangers as customers. Missing:\n${lines.join('\n')}\nberthd check repeats this check without starting; with BERTH_PUBLIC=off the service starts for people you trust.`,
  )
}

/**
 * Refuses the first start of an installation for strangers before it writes anything.
 * @throws ConfigError naming all walls that are missing
 */
export async function refuseUnsafeFirstStart(config: Config): Promise<void> {
  if (!config.isPublic || isInstalled(config)) return
  const { catalog } = await catalogInForce(config)
  requireWalls(await findWalls(config, null, catalog))
}

/**
 * Examines all walls, whether or not the service runs.
 * @param db null if there is none yet; the examination then leaves no files behind
 */
export async function findWalls(config: Config, db: Database | null, catalog: Catalog): Promise<Walls> {
  if (db) return examineWalls(config, db, catalog)
  const { dataDir } = config
  const before = new Set(existsSync(dataDir) ? readdirSync(dataDir) : [])
  const made = mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  try {
    return await examineWalls(config, null, catalog)
  } finally {
    const added = readdirSync(dataDir).filter((name) => !before.has(name))
    if (!isInstalled(config))
      for (const place of made ? [made] : added.map((name) => path.join(dataDir, name)))
        rmSync(place, { recursive: true, force: true })
  }
}

async function examineWalls(config: Config, db: Database | null, catalog: Catalog): Promise<Walls> {
  const held = db ? await heldDrivers(config, db) : []
  const examine = (module: Module, obstacle: string | null) => {
    const zones = catalog.zones.filter(({ driver }) => driver === module.name)
    return module.examine({
      dataDir: config.dataDir,
      accel: config.accel,
      isChosen: config.compute === module.name,
      isHeld: zones.length > 0 || held.includes(module.name),
      zoneSlugs: zones.map(({ zone_slug }) => zone_slug),
      obstacle,
    })
  }
  // If the default driver fails, the driver for new servers depends on the reason.
  const first = await examine(defaultModule, null)
  const examined: Examination[] = []
  for (const module of modules)
    examined.push(module === defaultModule ? first : await examine(module, first.obstacle))
  const balance = db ? await demoBalance(db) : 0
  return {
    walls: [...examined.flatMap(({ walls }) => walls), ...ownWalls(config, { balance })],
    warnings: examined.flatMap(({ warning }) => warning ?? []),
  }
}

export function checkCommand(config: ReadConfig): Command {
  return new Command('check')
    .description('check whether this machine is safe for strangers as customers, as BERTH_PUBLIC=on requires')
    .action(async () => {
      const parsed = config()
      const { catalog } = await catalogInForce(parsed)
      const look = (db: Database | null) => findWalls(parsed, db, catalog)
      const found = isInstalled(parsed) ? await withDatabase(parsed, 'check', look) : await look(null)
      for (const line of found.walls.flatMap(linesOf)) console.log(line)
      for (const warning of found.warnings) console.log(`warning  ${warning}.`)
      const count = missingOf(found).length
      if (count > 0)
        throw new CommandError(
          `Not safe for strangers as customers: ${count} of ${found.walls.length} are missing. BERTH_PUBLIC=on refuses to start.`,
        )
      console.log('Ready for strangers as customers, behind a TLS proxy: set BERTH_PUBLIC=on.')
    })
}

function linesOf({ name, stops, gap, mend }: Wall): string[] {
  if (gap === null) return [`ok       ${name}`]
  return [`missing  ${name}: ${gap.replace(/\.$/, '')}.`, `         Without it ${stops}. ${mend}`]
}
