import { flushCompileCache } from 'node:module'
import type { FastifyBaseLogger as Logger } from 'fastify'
import { type App, buildApp } from '../app.ts'
import { usedPools } from '../catalog/capacity.ts'
import type { Catalog, Template } from '../catalog/file.ts'
import { openCatalog, watchCatalog } from '../catalog/live.ts'
import { systemClock } from '../clock.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { type DriverName, driverNames } from '../drivers/driver.ts'
import { willBeBuilt } from '../drivers/images/source.ts'
import { messageOf } from '../message-of.ts'
import type { Telemetry } from '../telemetry.ts'
import { banner, hostsOf, imageLines, listening } from './banner.ts'
import { type Compute, openCompute } from './compute.ts'
import { lastGoodCatalog, lockDataDir, openDatabase, openDemo, openSecrets } from './installation.ts'
import { publicHost, publicUrl } from './public-name.ts'

/**
 * Runs the service until it is told to stop.
 * @param notices where the operator reads, as lines of JSON, what goes on; null: a terminal, with lines for people
 * @throws ConfigError, CatalogError: user mistakes, each with a sentence that says what to do
 */
export async function serve(config: Config, log: Logger, notices: Logger | null): Promise<void> {
  const say = (line: string) => (notices ? notices.info(line) : console.log(line))
  const unlock = lockDataDir(config)
  const opened = openCatalog(config.catalogFile, lastGoodCatalog(config), systemClock.now())
  const { catalog, fault } = opened
  const db = await openDatabase(config, { say, holdsLock: true })
  const others = await otherDrivers(db, catalog)
  if (config.compute !== 'simulator' || others.includes('qemu'))
    say('Checking what can run servers here; the first time this takes a few seconds.')
  const compute = await openCompute(config, others, log)
  // Loaded where it is wanted: it is a tenth of the idle service.
  const telemetry = config.metrics ? new (await import('../telemetry.ts')).Telemetry() : undefined
  const app = await buildApp({
    db,
    clock: systemClock,
    drivers: compute.drivers,
    catalog,
    secrets: openSecrets(config),
    log,
    telemetry,
    ...config,
    sshHost: publicHost(config),
    publicUrl: publicUrl(config),
  })
  const demo = await openDemo(db, config)
  const address = await listen(app.http, config)
  const scrapes = telemetry && (await answerScrapes(telemetry, config, { db, app, compute, catalog }))
  await startWorkers(app)
  const stopped = untilStopped()
  void buildEarly(compute, catalog, { say, stopped })
  const [hosts, images, orphans] = await Promise.all([
    hostsOf(compute, catalog),
    imageLines(compute, catalog),
    app.reconciler.orphans(),
  ])
  const facts = { config, address, scrapes, hosts, compute, demo, images, orphans, fault }
  if (notices) notices.info(listening(facts), 'listening')
  else for (const line of banner(facts)) say(line)
  // Where Node was told to keep what it compiles, also a service that will be killed leaves it for the next start.
  flushCompileCache()
  const watch = watchCatalog(opened, { clock: systemClock, log }, (wrong) => {
    for (const line of wrong ? [`${STAYS}\n${wrong}`] : ofChange(compute, catalog)) say(line)
  })
  await stopped
  say('Stopping. Servers keep running; the next start takes them over.')
  await watch.stop()
  await scrapes?.close()
  await app.close()
  unlock()
}

const STAYS = 'The catalogue was not reloaded, because the file is invalid:'

function ofChange({ drivers }: Compute, { zones }: Catalog): string[] {
  const closed = zones.filter((zone) => !drivers.pools.includes(drivers.poolOf(zone)))
  return [
    'The catalogue was reloaded.',
    ...closed.map(
      ({ zone_slug, driver }) =>
        `Zone ${zone_slug} is closed until the next start: its driver, ${driver}, is not running.`,
    ),
  ]
}

async function startWorkers(app: App): Promise<void> {
  await app.engine.start({ isAlone: true })
  app.reconciler.start()
  app.sampler.start()
  app.billing.start()
  app.events.start()
  app.retention.start()
  await app.webhooks.start({ isAlone: true })
}

/** The drivers that zones name, and those of servers whose zone has another one since, or is gone. */
async function otherDrivers(db: Database, { zones }: Catalog): Promise<DriverName[]> {
  const pools = await usedPools(db)
  return driverNames.filter((name) => pools.includes(name) || zones.some(({ driver }) => driver === name))
}

/** @throws ConfigError */
async function answerScrapes(
  telemetry: Telemetry,
  { metrics, dataDir }: Config,
  { db, app, compute, catalog }: { db: Database; app: App; compute: Compute; catalog: Catalog },
) {
  const images = async () =>
    Promise.all(
      catalog.templates.map(async ({ slug, image }) => {
        const state = await compute.images?.state(image)
        const bytes = state?.state === 'ready' ? state.bytes : null
        return { template: slug, bytes, isFailed: state?.state === 'failed' }
      }),
    )
  const found = compute.images ? images : async () => []
  telemetry.watch({ db, clock: systemClock, ...app, images: found, dataDir })
  const { host, port } = metrics ?? { host: '127.0.0.1', port: 0 }
  return telemetry.listen(host, port).catch((error: unknown) => {
    throw new ConfigError(
      `BERTH_METRICS (--metrics) is "${host}:${port}": can't listen there: ${messageOf(error)}.`,
    )
  })
}

async function listen(
  http: { listen(options: { host: string; port: number }): Promise<string> },
  config: Config,
): Promise<string> {
  try {
    return await http.listen({ host: config.host, port: config.port })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code // listen fails with system errors only
    const why: Record<string, string> = {
      EADDRINUSE: `port ${config.port} is in use by another program. Set PORT (--port) to another one, or to 0 for any free one.`,
      EACCES: `port ${config.port} needs root privileges. Set PORT (--port) to one above 1023.`,
      EADDRNOTAVAIL: `this machine has no address ${config.host}. Set HOST (--host) to one of its addresses.`,
      ENOTFOUND: `the name ${config.host} does not resolve. Set HOST (--host) to an address of this machine.`,
    }
    throw new ConfigError(
      `The API can't listen on ${config.host}:${config.port}: ${why[code ?? ''] ?? messageOf(error)}`,
    )
  }
}

/**
 * Images that are built here take minutes, so they are made before anybody asks: one after the other, those first that
 * come from nowhere else.
 */
async function buildEarly(
  { images }: Compute,
  { templates }: Catalog,
  { say, stopped }: { say: (line: string) => void; stopped: Promise<void> },
): Promise<void> {
  let isStopping = false
  void stopped.then(() => {
    isStopping = true
  })
  const rank = ({ image }: Template) => (image.sources[0]?.type === 'build' ? 0 : 1)
  for (const { slug, image } of templates.toSorted((a, b) => rank(a) - rank(b))) {
    if (!images || (await images.state(image)).state === 'ready') continue
    if (!(await willBeBuilt(image)) || isStopping) continue
    try {
      await images.wait(image)
      say(`The image ${slug} is ready.`)
    } catch (error) {
      if (!isStopping) say(`The image ${slug} is not ready: ${messageOf(error)}`)
    }
  }
}

/** A terminal's Ctrl-C comes twice under npm: from the terminal, and passed on by npm a few milliseconds later. */
const SAME_KEY_PRESS_MS = 1_000

/** Resolves at the first SIGINT or SIGTERM. A person who asks again ends the process at once. */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    let askedAt: number | null = null
    const ask = () => {
      if (askedAt !== null && Date.now() - askedAt > SAME_KEY_PRESS_MS) process.exit(130)
      askedAt ??= Date.now()
      resolve()
    }
    process.on('SIGINT', ask)
    process.on('SIGTERM', ask)
  })
}
