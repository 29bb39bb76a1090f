import { findTemplate, type Template } from '../../catalog/file.ts'
import { type Driver, DriverError } from '../../drivers/driver.ts'
import {
  again,
  done,
  fail,
  next,
  type Operation,
  type Step,
  type StepResult,
} from '../../operations/procedure.ts'
import { moveSsh, settlePorts } from '../../ports/ports.ts'
import { attachedTo } from '../../volumes/attachments.ts'
import type { VolumeTable } from '../../volumes/tables.ts'
import { BOOT_MS, type BootData } from '../operations.ts'
import { RESCUE_IMAGE } from '../rescue-login.ts'
import { BOOT_TIMEOUT } from '../states.ts'
import { updateMachine } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import { ifUnsupported, isUnsupported } from './attach.ts'
import { settleIso } from './iso.ts'
import { machineSpec, type ProcedureOptions, rescueOf } from './spec.ts'

const ASK_IMAGE_MS = 500
const ASK_BACK_MS = 1_000
/** The pause before the next call to a place off site that did not answer. */
const AWAY_MS = 30_000
const ASK_QUEUE_MS = 250
/** A slow guest is probed less often: the delay is a fiftieth of the time that it has taken. */
const ASK_READY_MS = { least: 50, most: 1_000, share: 1 / 50 }
/** The part of create's progress bar that the image takes, and where the guest's boot begins. */
const IMAGE_SHARE = 50
const BOOT_AT = 60

/** Steps from no machine to a guest that answers. Create, start and reboot enter at different steps. */
export function bootSteps(
  options: ProcedureOptions,
): Record<'image' | 'make' | 'boot' | 'ready', Step<BootData, ServerTable>> {
  const { db, clock, drivers, connectivity } = options

  const make: Step<BootData, ServerTable> = async (operation, _signal, server) => {
    const driver = drivers.at(server.pool)
    // A second run may find the machine created or even running: a later step may have begun before a crash.
    const isOn = async () => ['running', 'hung'].includes((await driver.inspect(server.server_id)).power)
    if (!server.has_disk && !(await isOn()))
      await driver.define(machineSpec(options, server, operation.operation_id))
    // A create writes `has_disk` at its end, with the status: until then the disk contains nothing of value.
    if (!server.has_disk && operation.type !== 'create')
      await updateMachine(db, server.server_id, { has_disk: 1 })
    const made = { has_disk: true }
    return operation.data.start_on_create === false ? done(made) : next('boot', BOOT_AT, made)
  }

  const boot: Step<BootData, ServerTable> = async (operation, _signal, server) => {
    const driver = drivers.at(server.pool)
    try {
      const { power } = await driver.inspect(server.server_id)
      const lost = power === 'running' ? null : await settleParts(options, operation, server)
      if (lost) return lost
      await connectivity.tell(server).catch(ifUnsupported)
      if ((await driver.start(operation.subject_id)) === 'queued') return again(ASK_QUEUE_MS)
    } catch (error) {
      // Requests are refused earlier, but the service may start a server after its host has lost the feature.
      if (isUnsupported(error))
        return fail(
          'not_supported',
          'The server has a firewall, which its host does not support at present. Detach its firewalls to start it without them, or contact support.',
        )
      if (!(error instanceof DriverError && error.code === 'port_taken')) throw error
      await moveToOtherPort(options, server)
      return again(0)
    }
    return next('ready', BOOT_AT, { ready_by: clock.now() + BOOT_MS })
  }

  return { image: imageStep(options), make, boot, ready: readyStep(options) }
}

/** Waits until a login on the guest can succeed. */
function readyStep({ clock, drivers }: ProcedureOptions): Step<BootData, ServerTable> {
  return async (operation, _signal, { pool, iso_id, rescue_id }) => {
    // An installer has no SSH.
    if (iso_id !== null && rescue_id === null) return done()
    const driver = drivers.at(pool)
    const answer = await driver.ready(operation.subject_id)
    if (answer) return done({ host_keys: answer.hostKeys })
    const { power } = await driver.inspect(operation.subject_id)
    if (power === 'stopped' || power === 'absent')
      return fail(
        'boot_failed',
        'The guest shut down before SSH was ready. Check its user data and its image.',
      )
    const left = (operation.data.ready_by ?? 0) - clock.now()
    if (left <= 0)
      return fail(
        BOOT_TIMEOUT,
        `SSH on the guest was not ready within ${BOOT_MS / 1000} seconds. The guest keeps running, and may still become ready.`,
      )
    return waiting(left)
  }
}

/** Continues with the boot if the machine has its disk; otherwise prepares the image for the disk. */
function imageStep(options: ProcedureOptions): Step<BootData, ServerTable> {
  const { drivers, catalog, log } = options
  return async (operation, _signal, server) => {
    const driver = drivers.at(server.pool)
    if (server.has_disk) {
      const { power } = await driver.inspect(server.server_id)
      const isRescue = power !== 'absent' && server.rescue_id !== null
      if (isRescue) return prepareImage({ log }, operation, driver, { image: RESCUE_IMAGE }, 'boot')
      if (power !== 'absent') return next('boot', BOOT_AT)
      // An empty disk must never replace the customer's data.
      log.error(
        { server_id: server.server_id, operation_id: operation.operation_id },
        'the disk of a server is missing',
      )
      return fail(
        'disk_lost',
        'The disk of the server is missing on its host. Contact support with the id of the operation.',
      )
    }
    if (server.snapshot_id !== null)
      return prepareSnapshot(options, operation, driver, server.snapshot_id, 'make')
    return prepareImage({ log }, operation, driver, findTemplate(catalog, server.template_id), 'make')
  }
}

/**
 * Prepares the image of a template.
 * @param then the step that follows once the image is ready
 */
export async function prepareImage(
  { log }: Pick<ProcedureOptions, 'log'>,
  { operation_id }: Pick<Operation<object>, 'operation_id'>,
  driver: Driver,
  template: Pick<Template, 'image'> | undefined,
  then: string,
): Promise<StepResult<undefined>> {
  if (!template) return fail('image_unavailable', 'The template of this server is no longer available.')
  const state = await driver.image(template.image)
  if (state.state === 'ready') return next(then, IMAGE_SHARE)
  if (state.state === 'failed') {
    // The store's message is only for the operator: it names packages, sources and files.
    log.error({ operation_id, reason: state.message }, 'an image could not be prepared')
    return fail(
      'image_unavailable',
      'The image of this template could not be prepared. Choose another template, or try again later.',
    )
  }
  return again(ASK_IMAGE_MS, state.state === 'preparing' ? Math.floor(state.progress * IMAGE_SHARE) : 0)
}

/**
 * Checks that a snapshot or an image is on its host; if not, brings it back from its copy off site.
 * @param then the step that follows once it is there
 */
export async function prepareSnapshot(
  { log, offsite }: Pick<ProcedureOptions, 'log' | 'offsite'>,
  { operation_id }: Pick<Operation<object>, 'operation_id'>,
  driver: Driver,
  snapshotId: string,
  then: string,
): Promise<StepResult<undefined>> {
  const kept = await driver.listSnapshots([snapshotId])
  if (kept.get(snapshotId)?.isReady) return next(then, IMAGE_SHARE)
  const back = await offsite.bring(snapshotId)
  if (back.state === 'copying') return again(ASK_BACK_MS, Math.floor(back.progress * IMAGE_SHARE))
  if (back.state === 'failed' && back.code === 'unavailable') return again(AWAY_MS)
  if (back.state === 'failed' && back.code === 'disk_full')
    return fail('disk_full', 'The host has no room for the snapshot or image. Try again later.')
  log.error({ operation_id, snapshot_id: snapshotId }, 'a snapshot is missing on its host')
  return fail(
    'snapshot_lost',
    'The snapshot or image is missing on its host. Contact support with the id of the operation.',
  )
}

/**
 * Gives a machine that is off the ports, the system, the ISO and the volumes of its server.
 * @returns a failure if the host lacks one of them, or a pause while the host gets it
 */
async function settleParts(
  options: ProcedureOptions,
  operation: Pick<Operation<object>, 'operation_id'>,
  server: ServerTable,
): Promise<StepResult<never> | null> {
  const { db, clock, drivers, log } = options
  const { server_id, pool } = server
  await settlePorts(db, server_id, clock.now())
  // A new disk has no rescue system beside it. A creation that failed may have made a disk that the row lacks.
  if (server.has_disk || server.rescue_id !== null)
    await drivers.at(pool).rescue(server_id, rescueOf(options, server))
  const advice = 'Take it out to start the server without it.'
  const wait = await settleIso(options, operation, drivers.at(pool), server, advice)
  if (wait) return wait
  // A rebuilt machine has no volumes yet.
  for (const volume of await attachedTo(db, server_id)) {
    try {
      await drivers.at(pool).attachVolume(volume.volume_id, server_id)
    } catch (error) {
      if (!isLost(error)) throw error
      log.error({ server_id, volume_id: volume.volume_id }, 'a volume is missing on its host')
      return volumeLost(volume)
    }
  }
  return null
}

function isLost(error: unknown): boolean {
  return error instanceof DriverError && error.code === 'not_found'
}

function volumeLost({ name }: VolumeTable): StepResult<never> {
  return fail(
    'volume_lost',
    `The volume ${name} is missing on its host. Detach it to start the server without it, or contact support with the id of the operation.`,
  )
}

/** Moves a server to a free host port, because another program uses its port. */
async function moveToOtherPort(
  { db, clock, sshPorts }: ProcedureOptions,
  server: ServerTable,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await updateMachine(tx, server.server_id, {
      ssh_port: await moveSsh(tx, sshPorts, server, clock.now()),
    })
  })
}

function waiting(leftMs: number): StepResult<never> {
  // After the clock was set back, more time may be left than the whole.
  const takenMs = Math.max(0, BOOT_MS - leftMs)
  const progress = BOOT_AT + Math.floor((takenMs / BOOT_MS) * (99 - BOOT_AT))
  const { least, most, share } = ASK_READY_MS
  return again(Math.min(most, Math.max(least, Math.floor(takenMs * share))), progress)
}
