import { flushCompileCache } from 'node:module'
import { networkInterfaces } from 'node:os'
import path from 'node:path'
import type { FastifyBaseLogger as Logger } from 'fastify'
import { type App, buildApp } from '../app.ts'
import type { Catalog, Template } from '../catalog/file.ts'
import { openCatalog, watchCatalog } from '../catalog/live.ts'
import { systemClock } from '../clock.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { HostFacts, ImageState } from '../drivers/driver.ts'
import { messageOf } from '../message-of.ts'
import { formatMoney } from '../money.ts'
import type { Telemetry } from '../telemetry.ts'
import { builtTemplates, type Compute, openCompute } from './compute.ts'
import { type Demo, lockDataDir, openDatabase, openDemo, openSecrets } from './installation.ts'

/**
 * Runs the service until it is told to stop.
 * @throws ConfigError, CatalogError: user mistakes, each with a sentence that says what to do
 */
export async function serve(config: Config, log: Logger, say: (line: string) => void): Promise<void> {
  const unlock = lockDataDir(config)
  const lastGood = path.join(config.dataDir, 'catalog.last-good.yaml')
  const opened = openCatalog(config.catalogFile, lastGood, systemClock.now())
  const { catalog, fault } = opened
  const db = await openDatabase(config)
  if (config.compute !== 'simulator')
    say('Looking at what can run servers here; the first time this takes some seconds.')
  const compute = await openCompute(config, log)
  // Loaded where it is wanted: it is a tenth of the idle service.
  const telemetry = config.metrics ? new (await import('../telemetry.ts')).Telemetry() : undefined
  const app = await buildApp({
    db,
    clock: systemClock,
    driver: compute.driver,
    catalog,
    secrets: openSecrets(config),
    log,
    sshPorts: config.sshPorts,
    rateLimits: config.rateLimits,
    graceMs: config.graceMs,
    telemetry,
    sshHost: reachableHost(config.host),
    sampleSeconds: config.sampleSeconds,
    webhookAllow: config.webhookAllow,
    trustProxy: config.trustProxy,
  })
  const demo = await openDemo(db, config)
  const address = await listen(app.http, config)
  const scrapes = telemetry && (await answerScrapes(telemetry, config, { db, app, compute, catalog }))
  await app.engine.start({ isAlone: true })
  app.reconciler.start()
  app.sampler.start()
  app.billing.start()
  app.events.start()
  app.retention.start()
  await app.webhooks.start({ isAlone: true })
  const stopped = untilStopped()
  for (const template of builtTemplates(catalog)) void prepareEarly(compute, template, say)
  const facts = await compute.driver.host()
  const [images, strangers] = await Promise.all([imageLines(compute, catalog), app.reconciler.strangers()])
  for (const line of banner({ config, address, scrapes, facts, compute, demo, images, strangers, fault }))
    say(line)
  // Where Node was told to keep what it compiles, also a service that will be killed leaves it for the next start.
  flushCompileCache()
  const unwatch = watchCatalog(opened, systemClock, (wrong) => {
    say(
      wrong
        ? `The catalogue stays as it was. What is wrong with the change:\n${wrong}`
        : 'The catalogue was changed.',
    )
  })
  await stopped
  say('Stopping. Servers keep running; the next start finds them again.')
  await unwatch()
  await scrapes?.close()
  await app.close()
  unlock()
}

/** @throws ConfigError */
async function answerScrapes(
  telemetry: Telemetry,
  { metrics }: Config,
  { db, app, compute, catalog }: { db: Database; app: App; compute: Compute; catalog: Catalog },
) {
  const images = async () =>
    Promise.all(
      catalog.templates.map(async ({ slug, image }) => {
        const state = await compute.images?.state(image)
        return { template: slug, bytes: state?.state === 'ready' ? state.bytes : null }
      }),
    )
  telemetry.watch({ db, clock: systemClock, ...app, images: compute.images ? images : async () => [] })
  const { host, port } = metrics ?? { host: '127.0.0.1', port: 0 }
  return telemetry.listen(host, port).catch((error: unknown) => {
    throw new ConfigError(
      `BERTH_METRICS (--metrics) is "${host}:${port}", which can't be listened on: ${messageOf(error)}.`,
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
      EACCES: `port ${config.port} needs more rights. Set PORT (--port) to one above 1023.`,
      EADDRNOTAVAIL: `this machine has no address ${config.host}. Set HOST (--host) to one that it has.`,
      ENOTFOUND: `there is no address for the name ${config.host}. Set HOST (--host) to an address of this machine.`,
    }
    throw new ConfigError(
      `The API can't listen on ${config.host}:${config.port}: ${why[code ?? ''] ?? messageOf(error)}`,
    )
  }
}

/** Images that are built here are wanted soon and cost no large download: they are made before anybody asks. */
async function prepareEarly(
  { images }: Compute,
  { slug, image }: Template,
  say: (line: string) => void,
): Promise<void> {
  if (!images || (await images.state(image)).state === 'ready') return
  try {
    await images.wait(image)
    say(`The image ${slug} is ready.`)
  } catch (error) {
    say(`The image ${slug} is not ready: ${messageOf(error)}`)
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

/** The address that customers type: where the service listens on all, the first one that other machines can reach. */
function reachableHost(host: string): string {
  if (host !== '0.0.0.0' && host !== '::') return host
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return addresses.find((address) => !address.internal && address.family === 'IPv4')?.address ?? '127.0.0.1'
}

async function imageLines({ images }: Compute, catalog: Catalog): Promise<string[]> {
  if (!images) return []
  const states = await Promise.all(
    catalog.templates.map(async (template) => ({ template, state: await images.state(template.image) })),
  )
  return states.map(
    ({ template, state }) =>
      `${template.slug.padEnd(14)} ${describeImage(state, template.image.sources[0]?.type === 'build')}`,
  )
}

function describeImage(state: ImageState, isBuilt: boolean): string {
  if (state.state === 'ready') return `ready (${Math.ceil(state.bytes / 2 ** 20)} MB)`
  if (state.state === 'preparing') return `being made ready: ${state.detail}`
  if (state.state === 'failed') return `failed: ${state.message}`
  return isBuilt ? 'being built now' : 'fetched when first used'
}

interface BannerFacts {
  config: Config
  address: string
  scrapes: { address: string } | undefined
  facts: HostFacts
  compute: Compute
  demo: Demo
  images: string[]
  strangers: string[]
  /** What is wrong with the catalogue file, where the last good one is used instead. */
  fault: string | null
}

function banner(told: BannerFacts): string[] {
  const { config, address, scrapes, facts, compute, demo, images, strangers, fault } = told
  const lines = [
    '',
    'Berth is up.',
    '',
    `  API      ${address}/v1`,
    `  Docs     ${address}/v1/docs`,
    `  Compute  ${facts.compute}: ${facts.reason}`,
  ]
  if (!facts.isReal) lines.push(`           *** SIMULATED: no server is real, and ssh leads nowhere. ***`)
  if (compute.fallback) lines.push(`           ${compute.fallback}`)
  for (const [at, line] of images.entries()) lines.push(`  ${at === 0 ? 'Images ' : '       '}  ${line}`)
  if (scrapes) lines.push(`  Metrics  ${scrapes.address}`)
  lines.push(`  Data     ${config.dataDir}`)
  lines.push(`  Account  ${demo.email}, balance ${formatMoney(demo.balance)} RUB`)
  lines.push(
    `  Token    ${demo.newToken ? `${demo.newToken}  (also in ${demo.tokenFile})` : `in ${demo.tokenFile}`}`,
  )
  for (const warning of facts.warnings) lines.push(`  Warning  ${warning}`)
  if (fault) lines.push(`  Warning  the last good catalogue is used, as the present one is wrong:`, fault)
  for (const id of strangers)
    lines.push(`  Warning  machine ${id} belongs to no server; it was left as it is`)
  lines.push('', 'Ctrl-C stops the service; servers keep running.', '')
  return lines
}
