import { existsSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import pino from 'pino'
import { createAccount, findAccountByEmail } from '../../../api/accounts/accounts.ts'
import { createToken } from '../../../api/accounts/tokens.ts'
import { buildApp } from '../../../api/app.ts'
import { post } from '../../../api/billing/ledger.ts'
import { readCatalog } from '../../../api/catalog/file.ts'
import type { Clock } from '../../../api/clock.ts'
import type { Database } from '../../../api/database/database.ts'
import { migrate } from '../../../api/database/migrate.ts'
import { openSqlite } from '../../../api/database/sqlite.ts'
import { Drivers } from '../../../api/drivers/drivers.ts'
import { Simulator } from '../../../api/drivers/simulator/simulator.ts'
import { volumesOf } from '../../../api/drivers/simulator/volumes.ts'
import { parseMoney } from '../../../api/money.ts'
import { noPeers } from '../../../api/processes/peers.ts'
import { Secrets } from '../../../api/secrets.ts'
import { requireCover } from '../../../api/servers/cover.ts'
import { Connectivity } from '../../../api/servers/lifecycle/connectivity.ts'
import { serverProcedures } from '../../../api/servers/lifecycle/procedures.ts'
import { imageProcedures } from '../../../api/snapshots/image-import.ts'
import { Offsite } from '../../../api/snapshots/offsite.ts'
import { volumeProcedures } from '../../../api/volumes/procedures.ts'
import { Addresses } from '../../../api/webhooks/addresses.ts'
import { lookupName } from '../../../api/webhooks/resolve.ts'
import type { AppOptions } from '../../../api/wiring/options.ts'
import { brokenAtRest } from './invariants.ts'
import { load } from './load.ts'
import { type Death, type Finding, type Order, type Play, PORTS, type StepName } from './orders.ts'
import { pacedClock } from './paced-clock.ts'
import { type Stage, scenarios } from './scenarios.ts'

const LOOPBACK = { address: '127.0.0.1', prefix: 32, family: 'ipv4' as const }
const UPLOAD_PART = 2 ** 20

/** Decides when this process is killed, and records the steps that it has run. */
class Fate {
  saveEveryMs = 0
  /** The deaths that operations have not reached yet. An operation is held when it reaches its death. */
  readonly ahead = new Map<string, Death>()
  /** Operations begin their next step when this resolves. Until then, the test assigns their deaths. */
  start: Promise<void> | undefined
  momentsLeft = Number.POSITIVE_INFINITY
  readonly seen: StepName[] = []

  readonly observe: NonNullable<AppOptions['observe']> = async (when, { type, operation_id }, step) => {
    await this.start
    this.seen.push({ type, step })
    this.moment()
    const death = this.ahead.get(operation_id)
    if (death?.step !== step || death.moment !== when) return
    this.ahead.delete(operation_id)
    if (this.ahead.size === 0) die()
    await new Promise(() => {})
  }

  /** One of the countless moments at which a process can be killed. */
  readonly moment = () => {
    this.momentsLeft -= 1
    if (this.momentsLeft <= 0) die()
  }
}

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** Sends the test a finding. It is written at once, so that a kill right after it loses nothing. */
function tell(finding: Finding): void {
  writeSync(1, `${JSON.stringify(finding)}\n`)
}

/** Machines outlive the process in a file, as real ones do. Before and after each write is a moment to die at. */
function storage(folder: string, moment: () => void, name = 'machines.json') {
  const file = path.join(folder, name)
  return {
    load: () => (existsSync(file) ? readFileSync(file, 'utf8') : null),
    save: async (machines: string) => {
      moment()
      writeFileSync(`${file}.new`, machines)
      renameSync(`${file}.new`, file)
      moment()
    },
  }
}

/** The real program on the data of a folder. */
async function open(folder: string, fate: Fate) {
  const { clock, stop } = pacedClock(folder)
  const db = openSqlite(path.join(folder, 'berth.db'))
  await migrate(db)
  const driver = new Simulator({
    ...{ clock, bootMs: 60, shutdownMs: 300, storage: storage(folder, fate.moment) },
    volumes: volumesOf(storage(folder, fate.moment, 'volumes.json')),
  })
  const receive = driver.receive.bind(driver)
  driver.receive = async (...part) => {
    fate.moment()
    await receive(...part)
    fate.moment()
  }
  const catalog = readCatalog(path.resolve(import.meta.dirname, '../../../catalog.yaml'))
  const log = pino({ level: process.env.BERTH_LOG ?? 'silent' }, pino.destination(2))
  const secrets = new Secrets(Buffer.alloc(32, 7))
  const drivers = new Drivers('simulator', { simulator: driver })
  const connectivity = new Connectivity({ db, drivers, log })
  const parts = { db, clock, drivers, catalog, secrets, sshPorts: PORTS, log }
  const peers = noPeers()
  const offsite = new Offsite({ db, clock, log, drivers, peers, vault: null })
  const rateLimits = { reads: 1e9, writes: 1e9, anonymous: 1e9 }
  const { observe, saveEveryMs } = fate
  const app = await buildApp({
    ...parts,
    rateLimits,
    sshHost: '127.0.0.1',
    downloadAllow: [LOOPBACK],
    observe,
    saveEveryMs,
  })
  const downloads = { clock, lookup: lookupName, addresses: new Addresses([LOOPBACK]) }
  const procedures = {
    ...serverProcedures({ ...parts, connectivity, offsite }),
    ...volumeProcedures(parts),
    ...imageProcedures({ ...parts, downloads, offsite, requireCover }),
  }
  const steps = Object.entries(procedures).flatMap(([type, { steps }]) =>
    steps.map((step) => ({ type, step })),
  )
  const preset = { plan_type: 'preset', preset_id: catalog.presets[0]?.presetId }
  const order = {
    zone_slug: 'local-1',
    template_id: catalog.templates[0]?.templateId,
    cpu_type: 'amd',
    ...preset,
  }
  return { db, clock, driver, app, steps, order, token: await openAccount(db, clock), stop }
}

/** @returns a token of an account with very high quotas */
async function openAccount(db: Database, clock: Clock): Promise<string> {
  const email = 'customer@example.com'
  const accountId =
    (await createAccount(db, clock, { email, name: 'Customer' })) ??
    (await findAccountByEmail(db, email))?.account_id
  if (!accountId) throw new Error('there is no account')
  const quotas = JSON.stringify({
    ...{ servers: 1000, cpu: 1000, ram_mb: 10_000_000, disk_gb: 100_000 },
    ...{ volumes: 1000, volumes_gb: 1000, images: 1000, image_files_gb: 1000 },
  })
  await db.updateTable('accounts').set({ quotas }).execute()
  const payment = {
    accountId,
    type: 'payment',
    description: 'test',
    reference: 'first',
  } as const
  await post(db, clock, { ...payment, amount: parseMoney('1000000') })
  const token = { accountId, name: 'test', scopes: ['read', 'write'], expiresAt: null } as const
  return (await createToken(db, clock, token)).value
}

type Service = Awaited<ReturnType<typeof open>>

function requester({ app, token }: Service, moment: () => void) {
  return async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, body?: Record<string, unknown>) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    }
    const payload = body ? { payload: JSON.stringify(body) } : {}
    const reply = await app.http.inject({ method, url: `/v1${url}`, headers, ...payload })
    moment()
    if (reply.statusCode >= 500)
      tell({ broken: [`${method} ${url} was answered ${reply.statusCode}: ${reply.body}`] })
    return { status: reply.statusCode, body: JSON.parse(reply.body) }
  }
}

function stageOf(
  { app, db, driver, order }: Service,
  request: ReturnType<typeof requester>,
  fileUrl: string | undefined,
): Stage {
  const accepted = async (...call: Parameters<typeof request>) => {
    const { status, body } = await request(...call)
    if (status !== 202)
      throw new Error(`${call[0]} ${call[1]} was answered ${status}: ${JSON.stringify(body)}`)
    return body
  }
  return {
    db,
    driver,
    templateId: order.template_id,
    fileUrl,
    zone: order.zone_slug,
    create: async (more) => (await accepted('POST', '/servers', { ...order, ...more })).server_id,
    volume: async () => {
      const volume = { name: 'data', zone_slug: order.zone_slug, size_gb: 1 }
      return (await request('POST', '/volumes', volume)).body.volume_id
    },
    backUp: () => app.backups.look(),
    act: async (...call) => void (await accepted(...call)),
    settle: async () => {
      for (;;) {
        const operation = await active(db).executeTakeFirst()
        if (!operation) return app.engine.settled()
        await app.engine.waits.waitFor(operation, 60_000, new AbortController().signal)
      }
    },
  }
}

function active(db: Database) {
  return db.selectFrom('operations').selectAll().where('status', 'in', ['pending', 'running'])
}

/** Finishes the work that an earlier process left over, and reports the outcome. */
async function recover({ app, db, driver }: Service, stage: Stage): Promise<void> {
  await app.engine.start({ isAlone: true })
  await app.reconciler.look()
  await stage.settle()
  app.reconciler.start()
  app.backups.start()
  const operations = await db.selectFrom('operations').selectAll().orderBy('operation_id').execute()
  const broken = await brokenAtRest({
    ...{ db, machines: await driver.list(), volumes: await driver.listVolumes(), ports: PORTS },
  })
  tell({
    settled: operations.map(({ type, status, error_code }) => [type, status, error_code ?? '']),
    broken,
  })
}

/** Plays the scenarios up to their deaths, and reports operations that ended without theirs. */
async function dieIn(
  plays: readonly Play[],
  { fate, service, stage }: { fate: Fate; service: Service; stage: Stage },
): Promise<void> {
  const acts: (() => Promise<unknown>)[] = []
  for (const { scenario } of plays) {
    const act = await scenarios[scenario]?.(stage)
    if (!act) throw new Error(`there is no scenario ${scenario}`)
    acts.push(act)
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  fate.start = promise
  const { db, app, clock } = service
  for (const [at, { scenario, death }] of plays.entries()) {
    await acts[at]?.()
    const operations = await active(db).where('type', '=', death.type).execute()
    const mine = operations.find(({ operation_id }) => !fate.ahead.has(operation_id))
    if (!mine) throw new Error(`the scenario ${scenario} began no ${death.type}`)
    fate.ahead.set(mine.operation_id, death)
  }
  resolve()
  for (const operation of await active(db).execute())
    if (fate.ahead.has(operation.operation_id))
      await app.engine.waits.waitFor(operation, 600_000, new AbortController().signal)
  // The last step counts as saved a little after its operation has ended.
  await clock.sleep(60_000)
  tell({ missed: [...fate.ahead.values()] })
  // An orderly stop would wait for the operations that are held.
  die()
}

/** Uploads a file in parts, from where an earlier process was killed, and makes an image of it. */
async function upload(
  { app, token, db, order: { zone_slug } }: Service,
  { settle }: Stage,
  request: ReturnType<typeof requester>,
  moment: () => void,
): Promise<void> {
  const bytes = 3 * UPLOAD_PART
  const begun = await db.selectFrom('snapshots').select('snapshot_id').executeTakeFirst()
  const create = { name: 'own', upload: true, content_bytes: bytes, zone_slug }
  const id = begun?.snapshot_id ?? (await request('POST', '/images', create)).body.image_id
  const look = async () => (await request('GET', `/images/${id}`)).body
  for (let image = await look(); image.status === 'uploading'; image = await look()) {
    const at: number = image.uploaded_bytes
    if (at === bytes) await request('POST', `/images/${id}/import`, {})
    else {
      const part = Buffer.alloc(UPLOAD_PART)
      part.writeUInt16BE(0x55aa, 510)
      const { statusCode, body } = await app.http.inject({
        method: 'PATCH',
        url: `/v1/images/${id}/content`,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/octet-stream',
          'upload-offset': String(at),
        },
        payload: part,
      })
      if (statusCode !== 200) tell({ broken: [`the part at ${at} was answered ${statusCode}: ${body}`] })
      moment()
    }
  }
  await settle()
  const { status, uploaded_bytes } = await look()
  if (status !== 'available' || uploaded_bytes !== bytes)
    tell({ broken: [`the image is ${status} after ${uploaded_bytes} bytes`] })
}

async function main(order: Order): Promise<void> {
  const fate = new Fate()
  fate.saveEveryMs = order.saveEveryMs ?? 250
  const service = await open(order.folder, fate)
  const request = requester(service, fate.moment)
  const stage = stageOf(service, request, order.fileUrl)
  await recover(service, stage)

  if (order.plays) await dieIn(order.plays, { fate, service, stage })
  if (order.trace) {
    for (const [scenario, prepare] of Object.entries(scenarios)) {
      const act = await prepare(stage)
      fate.seen.length = 0
      await act()
      await stage.settle()
      tell({ walk: { scenario, steps: fate.seen } })
    }
    tell({ steps: service.steps })
  }
  if (order.load) {
    fate.momentsLeft = order.load.dieAt ?? Number.POSITIVE_INFINITY
    tell({ loading: true })
    await load({ seed: order.load.seed, driver: service.driver, order: service.order, request })
    await stage.settle()
  }
  if (order.upload) {
    fate.momentsLeft = order.upload.dieAt
    await upload(service, stage, request, fate.moment)
  }
  await service.app.close()
  service.stop()
  tell({ ended: true })
}

await main(JSON.parse(process.argv[2] ?? ''))
