import { once } from 'node:events'
import { flushCompileCache } from 'node:module'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger as Logger } from 'fastify'
import { type App, buildApp } from '../app.ts'
import { type Catalog, imagesOf, type Template } from '../catalog/file.ts'
import { type OpenCatalog, openCatalog, watchCatalog } from '../catalog/live.ts'
import { type Clock, systemClock } from '../clock.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { FullDisk } from '../database/full-disk.ts'
import type { Replica } from '../database/replica.ts'
import { readPages } from '../http/server/pages.ts'
import { messageOf } from '../message-of.ts'
import type { Link } from '../processes/link.ts'
import type { Members } from '../processes/members.ts'
import type { Telemetry } from '../telemetry.ts'
import { type BannerFacts, banner, hostsOf, imageLines, listening } from './banner.ts'
import { catalogPlace, placeCatalog } from './catalog.ts'
import { CheckUp } from './check-up.ts'
import { type Compute, chosenModule, heldDrivers, isAlone, openCompute, requireRole } from './compute.ts'
import { openDemo } from './demo.ts'
import { lastBackup, lockDataDir, openDatabase, openMailer, openSecrets } from './installation.ts'
import { openVault } from './offsite.ts'
import { publicHost, publicUrl } from './public-name.ts'
import { recordSite } from './site.ts'
import { findWalls, refuseUnsafeFirstStart, requireWalls } from './walls.ts'

type Say = (line: string) => void

/** The folder into which `npm start` builds the console. */
const CONSOLE = path.resolve(import.meta.dirname, '../../console/dist')

/** The time after a stop in which proxies and clients may use each connection for one more request. */
const LINGER_MS = 1_000

/**
 * A stop that takes longer, for example because the database does not answer, ends like a kill; supervisors
 * wait 30 s.
 */
const STOP_MS = 15_000

/**
 * Runs the service until it is stopped, and ends the process.
 * @param told.notices logs messages for the operator as JSON; null: they are printed on a terminal
 * @throws ConfigError, CatalogError for user mistakes, with a sentence on what to do
 */
export async function serve(
  config: Config,
  { log, notices, disk }: { log: Logger; notices: Logger | null; disk: FullDisk },
): Promise<void> {
  const say: Say = (line: string) => (notices ? notices.info(line) : console.log(line))
  await refuseUnsafeFirstStart(config)
  const unlock = config.role === 'all' ? lockDataDir(config) : () => {}
  const link = await hold(config, { log, say })
  if (placeCatalog(config)) say(`The catalogue is ${config.catalogFile} from now on: edit it there.`)
  const db = await openServed(config, { say, log, link })
  const clock = link?.clock ?? systemClock
  const opened = await openCatalog(catalogPlace(config, db), clock.now())
  const { catalog, fault } = opened
  await requireRole(config, { held: await heldDrivers(config, db), catalog })
  const secrets = await openSecrets(config, db)
  if (config.isPublic) requireWalls(await findWalls(config, db, catalog))
  if (chosenModule(config)?.isReal ?? true)
    say('Checking whether this machine can run servers; the first time, this takes a few seconds.')
  const compute = await openCompute(config, { db, catalog, clock }, log)
  const others = link && (await joinOthers(link, { db, config, log, compute }))
  const replica = link && (await openReplica(config, { primary: db, clock, log }))
  // Loaded on demand: it takes a tenth of the idle service's memory.
  const telemetry = config.metrics ? new (await import('../telemetry.ts')).Telemetry() : undefined
  const site = (): string => new URL(publicUrl(config) ?? app.http.listeningOrigin).origin
  const pages = config.hasConsole ? readPages(CONSOLE) : null
  const app: App = await buildApp({
    ...config,
    ...{ db, clock, drivers: compute.drivers, catalog, secrets, log, telemetry, disk, pages },
    catalogText: opened,
    securityLog: notices ?? undefined,
    mailer: openMailer(config),
    vault: await openVault(config, db, secrets),
    siteUrl: site,
    ...partOf(config, others, replica),
    ...{ sshHost: publicHost(config), publicUrl: publicUrl(config) },
  })
  const address = await listen(app.http, config)
  // An installation for many users has no demo account.
  const demo = link ? null : await openDemo(db, config, { site: site(), isShown: notices === null })
  const watched = { db, clock, app, compute, opened, others, disk, log }
  const scrapes = telemetry && (await answerScrapes(telemetry, config, watched))
  await startWorkers(app, config, { members: others, pools: compute.drivers.pools })
  const stopped = untilStopped()
  void buildEarly(compute, catalog, { say, stopped })
  const [hosts, images, orphans] = await survey(compute, catalog, app)
  const facts = { config, address, pages, scrapes, hosts, compute, demo, images, orphans, fault }
  announce({ ...facts, mails: app.mails.place }, { notices, say })
  const watch = watchCatalog(opened, { clock, log }, (wrong) =>
    wrong ? tellInvalid(wrong, notices) : ofChange(compute, catalog).forEach(say),
  )
  await stopped
  say('Stopping. Servers keep running, and the next start finds them.')
  await endProcess(unlock, log, async () => {
    await Promise.all([watch.stop(), scrapes?.close(), replica?.stop()])
    await app.close(LINGER_MS)
    await link?.close()
  })
}

/** Ends the process, even if hanging connections would keep it alive. */
async function endProcess(unlock: () => void, log: Logger, close: () => Promise<void>): Promise<void> {
  const isClosed = await Promise.race([close().then(() => true), sleep(STOP_MS, false)])
  if (!isClosed) log.warn(`not all work finished within ${STOP_MS / 1000} s; the next start continues it`)
  unlock()
  process.exit()
}

/** The role of this process among those that serve the installation. */
function partOf({ role }: Config, others: Members | null, replica: Replica | null) {
  if (!others) return {}
  const recent = replica ? { recent: replica.read } : {}
  return { peers: others, owner: others.processId, isWorker: role === 'worker', ...recent }
}

async function hold({ databaseUrl }: Config, told: { log: Logger; say: (line: string) => void }) {
  if (databaseUrl === null) return null
  // Loaded on demand, because it loads pg.
  return (await import('./on-postgres.ts')).holdInstallation(databaseUrl, told)
}

function announce(
  facts: BannerFacts,
  { notices, say }: { notices: Logger | null; say: (line: string) => void },
): void {
  recordSite(facts.config, facts.address)
  if (facts.fault && notices) tellInvalid(facts.fault, notices)
  if (notices) notices.info(listening(facts), 'listening')
  else for (const line of banner(facts)) say(line)
  // If Node caches compiled code, a service that is killed later leaves it for the next start, too.
  flushCompileCache()
}

async function joinOthers(
  link: Link,
  { compute, ...joining }: { db: Database; config: Config; log: Logger; compute: Compute },
): Promise<Members> {
  return (await import('./on-postgres.ts')).join(link, { ...joining, isAlone: isAlone(compute) })
}

async function openReplica(config: Config, parts: { primary: Database; clock: Clock; log: Logger }) {
  return (await import('./on-postgres.ts')).openReplica(config, parts)
}

function openServed(config: Config, { say, log, link }: { say: Say; log: Logger; link: Link | null }) {
  const onCommit = () => link?.ring('recorded')
  return openDatabase(config, { say, holdsLock: true, mayCreate: true, log, onCommit })
}

/** Reports as an error that the catalogue file is not in use, because prices may stay wrong. */
function tellInvalid(fault: string, notices: Logger | null): void {
  const message = 'The last good catalogue stays in force, because the file is invalid:'
  if (notices) notices.error({ fault }, message)
  else console.error(`${message}\n${fault}`)
}

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

/** Surveys hosts, images, and machines that belong to no server, for the banner. */
const survey = (compute: Compute, catalog: Catalog, { reconciler }: App) =>
  Promise.all([hostsOf(compute, catalog), imageLines(compute, catalog), reconciler.orphans()])

/** @throws ConfigError */
async function startWorkers(
  app: App,
  config: Config,
  { members, pools }: { members: Members | null; pools: readonly string[] },
): Promise<void> {
  await requireGuestHost(config)
  const isAlone = members === null
  // The app notifies streams of events, whichever process relays them.
  app.events.start()
  app.security.start()
  app.consoles.start()
  if (config.role === 'api') return
  members?.inherit(app.engine.inherit)
  members?.inherit(app.webhooks.inherit)
  members?.share(pools)
  await app.engine.start({ isAlone })
  app.reconciler.start()
  app.backups.start()
  app.offsite.start()
  app.sampler.start()
  app.abuse.start()
  app.complaintMails.start()
  app.documentMails.start()
  app.limitMails.start()
  app.serviceMails.start()
  app.limitKeeper.start()
  app.billing.start()
  app.payments.start()
  app.reverseDns.start()
  app.retention.start()
  app.mails.start()
  await app.webhooks.start({ isAlone })
}

/** @throws ConfigError */
async function answerScrapes(
  telemetry: Telemetry,
  config: Config,
  {
    db,
    clock,
    app,
    compute,
    opened,
    others,
    disk,
    log,
  }: {
    db: Database
    clock: Clock
    app: App
    compute: Compute
    opened: OpenCatalog
    others: Members | null
    disk: FullDisk
    log: Logger
  },
) {
  const { metrics, dataDir } = config
  const checkUp = new CheckUp({ config, db, clock, log })
  const images = async () =>
    Promise.all(
      imagesOf(opened.catalog).map(async ({ slug, image }) => {
        const state = await compute.images?.state(image)
        const bytes = state?.state === 'ready' ? state.bytes : null
        return { template: slug, bytes, isFailed: state?.state === 'failed' }
      }),
    )
  const found = compute.images ? images : async () => []
  const tellsTotals = () => others?.holds('totals') ?? true
  const backedUpAt = () => lastBackup(config)
  const isCatalogInvalid = () => opened.fault !== null
  const faults = () => checkUp.faults
  const watched = { tellsTotals, backedUpAt, isCatalogInvalid, faults, isDiskFull: () => disk.isFull }
  telemetry.watch({ db, clock, ...app, images: found, dataDir, ...watched })
  const { host, port } = metrics ?? { host: '127.0.0.1', port: 0 }
  const scrapes = await telemetry.listen(host, port).catch((error: unknown) => {
    throw new ConfigError(
      `BERTH_METRICS (--metrics) is "${host}:${port}": can't listen there: ${messageOf(error)}.`,
    )
  })
  checkUp.start()
  const close = () => {
    checkUp.stop()
    return scrapes.close()
  }
  return { ...scrapes, close }
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
 * Tries the address of ports before any server starts, which would wait for a port that never opens.
 * @throws ConfigError
 */
async function requireGuestHost({ guestHost }: Config): Promise<void> {
  const attempt = createServer()
  try {
    await once(attempt.listen(0, guestHost), 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') return // other faults are reported for HOST
    throw new ConfigError(
      `SSH ports can't listen on ${guestHost}: this machine has no address ${guestHost}. Set BERTH_GUEST_HOST (--guest-host) to one of its addresses.`,
    )
  } finally {
    attempt.close()
  }
}

/**
 * Builds images before they are ordered, because that takes minutes: one after the other, beginning with those that
 * cannot be downloaded.
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
    if (!(await images.willBeBuilt(image)) || isStopping) continue
    try {
      await images.wait(image)
      say(`The image ${slug} is ready.`)
    } catch {
      if (!isStopping) say(`The image ${slug} could not be prepared; see berthd image list.`)
    }
  }
}

/** Under npm, Ctrl-C arrives twice: from the terminal and, a few milliseconds later, from npm. */
const SAME_KEY_PRESS_MS = 1_000

/** Resolves at the first SIGINT or SIGTERM. The second one ends the process immediately. */
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
