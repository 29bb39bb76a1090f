import { type Console, screenOver } from '../console.ts'
import { DriverError, type GuestLogin, type PrivateCard } from '../driver.ts'
import { addressScript, hasAddress } from '../guest/card-address.ts'
import { hashPassword } from '../guest/crypt.ts'
import { growthScript } from '../guest/disk-growth.ts'
import { askAgent } from './agent.ts'
import { screenSocket } from './command.ts'
import { connected } from './console.ts'
import type { Context } from './launch.ts'
import { cancelCopies } from './live-copy.ts'
import type { MachineProcess } from './machine-process.ts'
import { raiseLimit } from './machine-volumes.ts'
import type { Qmp } from './qmp.ts'

const GIB = 2 ** 30
const RESIZE_MS = 20_000
/** Growing a disk waits this long for the agent of a guest that may have none. */
const TELL_MS = 2_000

/** @throws DriverError see Driver.setPassword */
export async function setPasswordIn(
  process: MachineProcess,
  { username, password }: GuestLogin,
): Promise<void> {
  const hash = Buffer.from(hashPassword(password)).toString('base64')
  await ask(process, 'guest-set-user-password', { username, password: hash, crypted: true })
}

/** @throws DriverError see Driver.setAddress */
export async function setAddressIn(process: MachineProcess, card: PrivateCard): Promise<void> {
  if (hasAddress(await ask(process, 'guest-network-get-interfaces'), card)) return
  await ask(process, 'guest-exec', shell(addressScript(card)))
  throw new DriverError('unavailable', 'The guest sets the address; the next call tells whether it did')
}

/** @throws DriverError see Driver.growDisk */
export async function growDiskOf(process: MachineProcess, context: Context, sizeGb: number): Promise<void> {
  const { qmp, sockets } = await running(process)
  const record = process.record
  if (!record) return
  const { diskGb } = record.spec
  const grown = { ...record, spec: { ...record.spec, diskGb: Math.max(diskGb, sizeGb) } }
  // QEMU can't resize a disk while it copies it, so the copy starts again later.
  await cancelCopies(qmp, process.files.run)
  await raiseLimit(process, context, grown)
  const size = grown.spec.diskGb * GIB
  await qmp.run('block_resize', { 'node-name': 't0', size }, RESIZE_MS)
  await process.keep(grown)
  if (record.rescue) return
  await askAgent(sockets, 'guest-exec', shell(growthScript(size)), TELL_MS).catch((error: unknown) => {
    // Most systems also grow their file system at the next boot.
    context.log.info({ server_id: process.id, err: error }, 'A guest was not told that its disk has grown')
  })
}

/** @throws DriverError see Driver.openScreen */
export async function openScreenOf(process: MachineProcess): Promise<Console> {
  const { sockets } = await running(process)
  const socket = await connected(screenSocket(sockets))
  if (!socket) throw new DriverError('unsupported', 'The machine has no screen until its next start')
  return screenOver(socket)
}

const shell = (script: string) => ({ path: '/bin/sh', arg: ['-c', script] })

/** Runs a command of the agent in a running guest. */
async function ask(
  process: MachineProcess,
  command: string,
  args?: Record<string, unknown>,
): Promise<unknown> {
  return askAgent((await running(process)).sockets, command, args)
}

/** @throws DriverError unavailable, not_found */
async function running(process: MachineProcess): Promise<{ qmp: Qmp; sockets: string }> {
  const seen = await process.look()
  if (seen.power === 'hung') throw new DriverError('unavailable', 'The machine does not respond')
  const { run } = process
  if (seen.power !== 'on' || seen.status === 'shutdown' || !run)
    throw new DriverError('not_found', 'The machine is off')
  return { qmp: seen.qmp, sockets: run.sockets }
}
