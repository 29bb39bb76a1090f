import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { Command } from 'commander'
import { pricedFor } from '../accounts/prices.ts'
import { revokeWithin } from '../accounts/revocation.ts'
import type { AccountTable } from '../accounts/tables.ts'
import { createToken } from '../accounts/tokens.ts'
import { takeGivenAddress } from '../addresses/taking.ts'
import { type Catalog, findZone, onSale, unknownZone, type Zone } from '../catalog/file.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { catalogInForce } from './catalog.ts'
import { isServed } from './installation.ts'
import { wholeNumber } from './listing.ts'
import { accountByNameOrId, type ReadConfig, withDatabase } from './operator.ts'

interface ImportOptions {
  account: string
  name: string
  zone?: string
  preset?: string
  cpu?: number
  ramMb?: number
  diskGb?: number
  user?: string
  osFamily?: string
  address?: string
}

const PART_BYTES = 16 * 2 ** 20
const HOUR_MS = 3600_000

/** Adds the command that makes a server of an account from the disk of another host. */
export function addImport(server: Command, config: ReadConfig): void {
  server
    .command('import')
    .description(
      "take in a disk of another host (qcow2, raw, VMDK, VHD or VHDX) as an account's server; the service must be running",
    )
    .argument('<file>', 'disk of a machine that is off, such as /var/lib/libvirt/images/web-1.qcow2')
    .requiredOption('--account <account>', 'account that the server is for')
    .requiredOption('--name <name>', 'name of the server')
    .option('--zone <zone>', 'zone (default: the first one)')
    .option('--preset <preset>', 'size of the server; or --cpu, --ram-mb and --disk-gb')
    .addOption(wholeNumber('--cpu <cores>', 'cores', 1))
    .addOption(wholeNumber('--ram-mb <mb>', 'memory in MB', 1))
    .addOption(wholeNumber('--disk-gb <gb>', 'disk in GB; at least that of the file', 1))
    .option('--user <name>', 'user for SSH (default: root)')
    .option('--os-family <family>', 'family of its operating system, such as debian')
    .option('--address <ipv4>', 'its public address, from the ranges of the zone')
    .action(async (file: string, options: ImportOptions) => {
      const parsed = config()
      const facts = await stat(file).catch(() => null)
      if (!facts?.isFile()) throw new ConfigError(`No such file: ${file}.`)
      if (!(await isServed(parsed)))
        throw new CommandError('The service is not running. Start it: only the service may touch machines.')
      const { catalog } = await catalogInForce(parsed)
      const offer = onSale(catalog)
      const zone = options.zone === undefined ? offer.zones[0] : findZone(offer, options.zone)
      if (!zone) throw new ConfigError(unknownZone(catalog, options.zone ?? ''))
      await withDatabase(parsed, `server import ${options.name}`, (db) =>
        importServer({ db, config: parsed, catalog, zone, options }, file),
      )
    })
}

interface Import {
  db: Database
  config: Config
  catalog: Catalog
  zone: Zone
  options: ImportOptions
}

/** Calls the API as the account, so that its rules, limits and prices apply. */
type Call = (method: string, path: string, body?: object | Blob, offset?: number) => Promise<Reply>

/** The fields of replies that are used here, in the places of the routes' schemas. */
interface Reply {
  status: string
  status_reason: string | null
  image_id: string
  operation_id: string
  server_id: string
  current_operation: { operation_id: string }
  error: { message: string } | null
}

/** @throws CommandError with the reason of the service */
async function importServer({ db, config, catalog, zone, options }: Import, file: string): Promise<void> {
  const account = await accountByNameOrId(db, options.account)
  const address = await reserve({ db, catalog, zone, options }, account)
  const accountId = account.account_id
  const token = await createToken(db, clock, {
    ...{ accountId, name: 'berthd server import', scopes: ['servers:read', 'servers:write'] },
    expiresAt: clock.now() + 24 * HOUR_MS,
  })
  const call = caller(config, token.value)
  let isDone = false
  try {
    const image = await upload(call, zone.zone_slug, file, options)
    try {
      const server = await create(call, zone, image.image_id, options, address !== null)
      if (address) await call('PATCH', `/addresses/${address.address_id}`, { server_id: server.server_id })
      console.log(`Server ${server.server_id}: ${options.name}, of ${account.email}.`)
      isDone = true
    } finally {
      await call('DELETE', `/images/${image.image_id}`)
    }
  } finally {
    if (address && !isDone) await call('DELETE', `/addresses/${address.address_id}`)
    await db.transaction().execute((tx) => revokeWithin(tx, clock, token.tokenId))
  }
}

/** Reserves the address that the server had, if any. @throws CommandError */
async function reserve(
  { db, catalog, zone, options: { address } }: Omit<Import, 'config'>,
  { account_id, default_project_id: project_id }: AccountTable,
) {
  if (address === undefined) return null
  if (isIP(address) !== 4) throw new ConfigError(`${address} is not an IPv4 address.`)
  const wanted = { account_id, project_id, family: 'ipv4' as const, server_id: null, goes_with: null }
  const row = await db.transaction().execute(async (tx) => {
    const priced = await pricedFor(tx, catalog, wanted.account_id)
    return takeGivenAddress(tx, priced, zone, wanted, address, clock.now())
  })
  if (row) return row
  throw new CommandError(
    `${address} is taken, or not in the ranges of zone ${zone.zone_slug}. Omit --address, or add the range to the catalogue.`,
  )
}

async function upload(call: Call, zone_slug: string, file: string, { name, user, osFamily }: ImportOptions) {
  const disk = await openAsBlob(file)
  const system = { ...(user && { default_username: user }), ...(osFamily && { os_family: osFamily }) }
  const begun = { name, upload: true, content_bytes: disk.size, zone_slug, ...system }
  const { image_id } = await call('POST', '/images', begun)
  try {
    for (let at = 0; at < disk.size; at += PART_BYTES)
      await call('PATCH', `/images/${image_id}/content`, disk.slice(at, at + PART_BYTES), at)
    const { operation_id } = await call('POST', `/images/${image_id}/import`, {})
    console.log('The disk is here; it is checked and converted.')
    await ended(call, operation_id)
    return { image_id }
  } catch (error) {
    await call('DELETE', `/images/${image_id}`)
    throw error
  }
}

async function create(
  call: Call,
  { zone_slug, cpu_types: [cpu_type] }: Zone,
  image_id: string,
  { name, preset, cpu, ramMb, diskGb }: ImportOptions,
  hasAddress: boolean,
): Promise<Reply> {
  const plan =
    preset === undefined
      ? { plan_type: 'custom', cpu, ram_mb: ramMb, disk_gb: diskGb }
      : { plan_type: 'preset', preset }
  const order = { name, zone_slug, cpu_type, image_id, ...plan, ...(hasAddress && { enable_ipv4: false }) }
  const server = await call('POST', '/servers', order)
  await ended(call, server.current_operation.operation_id)
  return server
}

/** Waits for an operation. @throws CommandError if it failed */
async function ended(call: Call, operationId: string): Promise<void> {
  for (;;) {
    const { status, error } = await call('GET', `/operations/${operationId}?wait=20`)
    if (status === 'succeeded') return
    if (status === 'failed' || status === 'canceled')
      throw new CommandError(error?.message ?? 'It was canceled.')
  }
}

function caller({ host, port }: Config, token: string): Call {
  const own = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  const base = `http://${own.includes(':') ? `[${own}]` : own}:${port}/v1`
  return async (method, path, body, offset) => {
    const isPart = body instanceof Blob
    const reply = await fetch(`${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': isPart ? 'application/octet-stream' : 'application/json' }),
        ...(isPart && { 'upload-offset': String(offset) }),
      },
      ...(body && { body: isPart ? body : JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw new CommandError(
        `The service does not answer at ${base}. Give its --host and --port. (${String(error)})`,
      )
    })
    if (reply.status === 204) return {} as Reply // no field of this reply is read
    // Bodies are those that the schemas of the routes describe.
    const answer = (await reply.json()) as Reply & { detail?: string }
    if (!reply.ok) throw new CommandError(answer.detail ?? `The service replied with ${reply.status}.`)
    return answer
  }
}
