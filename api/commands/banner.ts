import { type Catalog, imagesOf } from '../catalog/file.ts'
import type { Config } from '../config.ts'
import type { HostFacts } from '../drivers/driver.ts'
import type { ImageSource, ImageState } from '../drivers/images.ts'
import { messageOf } from '../message-of.ts'
import { formatMoney } from '../money.ts'
import type { Compute } from './compute.ts'
import type { Demo } from './demo.ts'
import { publicUrl } from './public-name.ts'

export async function imageLines({ images }: Pick<Compute, 'images'>, catalog: Catalog): Promise<string[]> {
  if (!images) return []
  const states = await Promise.all(
    imagesOf(catalog).map(async (offer) => ({ offer, state: await images.state(offer.image) })),
  )
  return states.map(
    ({ offer, state }) => `${offer.slug.padEnd(14)} ${describeImage(state, offer.image.sources)}`,
  )
}

function describeImage(state: ImageState, sources: readonly ImageSource[]): string {
  if (state.state === 'ready') return `ready (${Math.ceil(state.bytes / 2 ** 20)} MB)`
  if (state.state === 'preparing') return `preparing: ${state.detail}`
  if (state.state === 'failed') return 'failed; see berthd image list'
  if (sources[0]?.type === 'build') return 'being built in the background'
  const isBuilt = sources.some(({ type }) => type === 'build')
  return isBuilt
    ? 'downloaded on first use; built in the background if no download answers'
    : 'downloaded on first use'
}

/** A driver's description of its host, or the reason why it has none, with the driver's zones. */
interface Host {
  zones: string[]
  facts: HostFacts | string
}

export function hostsOf({ drivers }: Compute, catalog: Catalog): Promise<Host[]> {
  return Promise.all(
    drivers.pools.map(async (pool) => {
      const zones = catalog.zones.filter((zone) => drivers.poolOf(zone) === pool)
      const facts = await drivers.at(pool).host().catch(messageOf)
      return { zones: zones.map((zone) => zone.zone_slug), facts }
    }),
  )
}

function hostLines(hosts: readonly Host[]): string[] {
  return hosts.flatMap(({ zones, facts }, at) => {
    const head = at === 0 ? '  Compute  ' : '           '
    const place = hosts.length > 1 ? `${zones.join(', ') || 'earlier servers'}: ` : ''
    if (typeof facts === 'string') return [`${head}${place}*** does not work: ${facts} ***`]
    const line = `${head}${place}${facts.compute}: ${facts.reason}`
    return facts.isReal
      ? [line]
      : [line, `           *** SIMULATED: servers are not real, and SSH does not work. ***`]
  })
}

export interface BannerFacts {
  config: Config
  address: string
  /** The web console; null if it is off. */
  pages: object | null
  scrapes: { address: string } | undefined
  hosts: Host[]
  compute: Compute
  /** The demo account; null in an installation that has none. */
  demo: Demo | null
  /** The mail server, or the folder of mails. */
  mails: string
  images: string[]
  orphans: string[]
  /** The fault of the catalogue file, if the last good one is used in its place. */
  fault: string | null
}

/** The banner for machines. Others may read the journal, so the token itself is not in it. */
export function listening(facts: BannerFacts) {
  const { config, address, scrapes, hosts, compute, demo, mails, orphans, fault } = facts
  const known = hosts.flatMap(({ facts }) => (typeof facts === 'string' ? [] : [facts]))
  return {
    address: `${address}/v1`,
    public_url: publicUrl(config) ?? null,
    metrics: scrapes?.address ?? null,
    compute: hosts.map(({ zones, facts }) => ({
      zones,
      is_working: typeof facts !== 'string',
      description: typeof facts === 'string' ? facts : `${facts.compute}: ${facts.reason}`,
    })),
    is_simulated: known.some(({ isReal }) => !isReal),
    data: config.dataDir,
    catalog: config.catalogFile,
    account: demo?.email ?? null,
    token_file: demo?.tokenFile ?? null,
    mails,
    warnings: [
      ...(compute.fallback ? [compute.fallback] : []),
      ...known.flatMap(({ warnings }) => warnings),
      ...(fault ? [`using the last good catalogue, because the file is invalid: ${fault}`] : []),
      ...orphans.map((id) => `machine ${id} belongs to no server; it was left untouched`),
    ],
  }
}

function demoLines({ email, balance, newToken, tokenFile, signInLink }: Demo): string[] {
  return [
    `  Account  ${email}, balance ${formatMoney(balance)} RUB`,
    `  Token    ${newToken ? `${newToken}  (also in ${tokenFile})` : `in ${tokenFile}`}`,
    ...(signInLink ? [`  Sign in  ${signInLink}  (valid once, for a day)`] : []),
  ]
}

export function banner(facts: BannerFacts): string[] {
  const { config, address, pages, scrapes, hosts, compute, demo, mails, images, orphans, fault } = facts
  const lines = [
    '',
    'Berth is up.',
    '',
    ...(pages ? [`  Console  ${address}/`] : []),
    `  API      ${address}/v1`,
    `  Docs     ${address}/v1/docs`,
    ...(config.publicName === null ? [] : [`  Public   ${publicUrl(config)}`]),
    ...hostLines(hosts),
  ]
  if (compute.fallback) lines.push(`           ${compute.fallback}`)
  for (const [at, line] of images.entries()) lines.push(`  ${at === 0 ? 'Images ' : '       '}  ${line}`)
  if (scrapes) lines.push(`  Metrics  ${scrapes.address}`)
  lines.push(`  Mails    ${mails}`)
  lines.push(`  Data     ${config.dataDir}`, `  Catalog  ${config.catalogFile}`)
  if (demo) lines.push(...demoLines(demo))
  for (const { facts } of hosts)
    if (typeof facts !== 'string') for (const warning of facts.warnings) lines.push(`  Warning  ${warning}`)
  if (fault) lines.push(`  Warning  using the last good catalogue, because the file is invalid:`, fault)
  for (const id of orphans) lines.push(`  Warning  machine ${id} belongs to no server; it was left untouched`)
  lines.push('', 'Ctrl-C stops the service; servers keep running.', '')
  return lines
}
