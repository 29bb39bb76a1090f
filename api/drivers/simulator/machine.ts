import { createHash } from 'node:crypto'
import type { DiskHeader } from '../disk-header.ts'
import {
  DriverError,
  type GuestLogin,
  type HostKey,
  type MachineSpec,
  type MachineState,
  type PrivateCard,
  type RescueSpec,
  type ServerNetwork,
} from '../driver.ts'
import { hashPassword } from '../guest/crypt.ts'
import type { SharedStore } from '../module.ts'
import type { TrialState } from '../snapshots.ts'

/** The methods of the simulator that tests can let fail. */
export type Method =
  | 'host'
  | 'image'
  | 'define'
  | 'rescue'
  | 'growDisk'
  | 'insertIso'
  | 'start'
  | 'shutdown'
  | 'reset'
  | 'powerOff'
  | 'destroy'
  | 'snapshot'
  | 'receive'
  | 'importImage'
  | 'removeSnapshot'
  | 'verifySnapshot'
  | 'trySnapshot'
  | 'endTrial'
  | 'writeSnapshot'
  | 'listSnapshots'
  | 'inspect'
  | 'measure'
  | 'ready'
  | 'connect'
  | 'setPassword'
  | 'setAddress'
  | 'openConsole'
  | 'openScreen'
  | 'volume'
  | 'attachVolume'
  | 'detachVolume'
  | 'removeVolume'

/** A simulated machine, as it is stored. */
export interface Machine {
  spec: Omit<MachineSpec, 'password' | 'userData'>
  /** Missing: it was never connected. */
  network?: ServerNetwork
  diskGb: number
  /** Missing: no password was set while it ran. */
  passwordHash?: string
  /** The addresses that were set while it ran; missing: none. */
  addresses?: readonly string[]
  isOn: boolean
  startedAt: number
  readyAt: number
  /** The time at which the guest obeys the power button; null: nobody pressed it. */
  offAt: number | null
  stopReason: 'guest_shutdown' | 'crashed' | null
  /** The rescue system that it boots instead of its own disk. */
  rescue?: Omit<RescueSpec, 'password'>
  /** The installation whose host keys the guest has (missing: that of its own disk). */
  guest?: string
  /** The data that its guest has written to its disk, in tests. */
  data?: string
  /** Set for a snapshot, which is kept as a machine that never runs. */
  copy?: {
    readyAt: number
    consistency: 'filesystem' | 'crash'
    isoBytes?: number
    /** The full copy that a difference needs, and its file. */
    base?: { snapshotId: string; bytes: number; file: string }
  }
  /** The ISO in its drive. */
  iso?: string
  /** True for a snapshot that rotted on its disk. */
  isDamaged?: boolean
  /** How a snapshot's system starts in trials (default: it does). */
  boot?: TrialState
  /** The first part of a received file, and its header or the reason why it has none; gone once it is an image. */
  file?: {
    first: { bytes: number; sha256: string }
    header: DiskHeader | { unusable: string }
    isIso?: boolean
  }
}

/** A store of machines that several processes share. */
export interface MachineStore {
  /** @param serverIds (default: all) */
  load(serverIds?: readonly string[]): Promise<Map<string, Machine>>
  /** Changes, creates or deletes a machine; no other process changes it meanwhile. */
  change(serverId: string, change: (machine: Machine | undefined) => Machine | undefined): Promise<void>
}

/** @throws DriverError not_found */
export function known(machine: Machine | undefined): Machine {
  if (!machine) throw new DriverError('not_found', 'The machine does not exist.')
  return machine
}

export function stateOf(machine: Machine | undefined): MachineState {
  if (!machine) return { power: 'absent' }
  return machine.isOn
    ? { power: 'running', startedAt: machine.startedAt }
    : { power: 'stopped', reason: machine.stopReason }
}

/** The place of a snapshot among the machines. */
export const copyId = (snapshotId: string) => `snapshot ${snapshotId}`

/** Copies a machine into a snapshot that is ready after some time. */
export function copied(machine: Machine, now: number, copyMs: number): Machine {
  const isStill = machine.isOn ? machine.readyAt <= now : machine.stopReason !== 'crashed'
  const copy = { readyAt: now + copyMs, consistency: isStill ? ('filesystem' as const) : ('crash' as const) }
  return { ...machine, guest: guestOf(machine), isOn: false, offAt: null, copy }
}

/** A customer's file, whose image will be a copy of no machine. */
export function fileMachine(imageId: string, file: NonNullable<Machine['file']>): Machine {
  const spec: Machine['spec'] = {
    ...{
      serverId: imageId,
      owner: '',
      hostname: '',
      cpu: 1,
      ramMb: 0,
      diskGb: 0,
      cpuType: 'amd',
      image: null,
    },
    ...{ diskId: '', instanceId: '', username: '', sshPublicKeys: [], interfaces: [] },
  }
  const copy = { readyAt: Number.MAX_SAFE_INTEGER, consistency: 'crash' as const }
  const never = { isOn: false, startedAt: 0, readyAt: 0, offAt: null, stopReason: null }
  return { spec, diskGb: 0, ...never, copy, file }
}

/** Lets a machine that is off boot a rescue system, or its own disk. @throws DriverError see Driver.rescue */
export function withRescue(kept: Machine | undefined, rescue: RescueSpec | null): Machine {
  const { rescue: _before, ...machine } = known(kept)
  requireOff(machine)
  if (!rescue) return machine
  const { password: _password, ...system } = rescue
  return { ...machine, rescue: system }
}

/** @throws DriverError start_failed */
export function requireOff(machine: Machine | undefined): void {
  if (machine?.isOn)
    throw new DriverError('start_failed', 'The machine is running; turn it off before it is changed.')
}

/** The size of a snapshot: half of its disk. That of an ISO is its file's. */
export function bytesOf({ diskGb, copy }: Machine): number {
  return copy?.isoBytes ?? diskGb * 2 ** 29
}

export function hostKeyOf(machine: Machine): HostKey {
  const { rescue } = machine
  const guest = rescue ? `rescue ${rescue.rescueId}` : guestOf(machine)
  const blob = createHash('sha256').update(guest).digest()
  const fingerprint = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')
  return { type: 'ssh-ed25519', fingerprint: `SHA256:${fingerprint}`, publicKey: blob.toString('base64') }
}

/** The installation whose host keys a guest has: it makes new ones for another instance than that of its disk. */
function guestOf({ guest, spec }: Pick<Machine, 'guest' | 'spec'>): string {
  return guest ?? `${spec.serverId} ${spec.diskId}`
}

/** The parts of a machine that lie on its disk. @param from the snapshot that the disk is created from */
export function newDisk(spec: Machine['spec'], from?: Machine): Pick<Machine, 'diskGb' | 'guest' | 'data'> {
  if (!from) return { diskGb: spec.diskGb }
  const isSame = spec.instanceId === from.spec.instanceId
  return {
    diskGb: Math.max(spec.diskGb, from.diskGb),
    ...(isSame ? { guest: guestOf(from) } : {}),
    ...(from.data === undefined ? {} : { data: from.data }),
  }
}

/** Volumes stand in the installation's store beside the machines, under names that no server has. */
export const VOLUME_PREFIX = 'volume '
export const isVolume = (name: string) => name.startsWith(VOLUME_PREFIX)

/** The machines that a store of the installation holds. */
export function machinesIn(shared: SharedStore): MachineStore {
  return {
    load: async (serverIds) =>
      new Map(
        [...(await shared.load(serverIds))].flatMap(([id, text]) =>
          isVolume(id) ? [] : [[id, parsed(text)] as const],
        ),
      ),
    change: (serverId, change) =>
      shared.change(serverId, (text) => {
        const after = change(text === undefined ? undefined : parsed(text))
        return after && JSON.stringify(after)
      }),
  }
}

/** Only the simulator writes its machines. */
function parsed(text: string): Machine {
  const machine: Machine = JSON.parse(text)
  return machine
}

/** Grows the disk of a machine that is on. @throws DriverError not_found */
export function withDisk(machine: Machine, diskGb: number): Machine {
  if (!machine.isOn) throw new DriverError('not_found', 'The machine is off.')
  return { ...machine, diskGb: Math.max(machine.diskGb, diskGb) }
}

/** Sets the password of the guest's login user. @throws DriverError see Driver.setPassword */
export function withPassword(machine: Machine, { username, password }: GuestLogin, now: number): Machine {
  if (username !== machine.spec.username) throw new DriverError('unavailable', 'The guest has no such user.')
  return { ...answering(machine, now), passwordHash: hashPassword(password) }
}

/** Gives the guest's card its address. @throws DriverError see Driver.setAddress */
export function withAddress(machine: Machine, { mac, address }: PrivateCard, now: number): Machine {
  if (!machine.network?.cards.some((card) => card.mac === mac))
    throw new DriverError('unavailable', 'The guest has no such card.')
  return { ...answering(machine, now), addresses: [...new Set([...(machine.addresses ?? []), address])] }
}

/** Returns a machine whose agent answers. @throws DriverError not_found (it is off), unavailable (it boots) */
function answering(machine: Machine, now: number): Machine {
  if (!machine.isOn) throw new DriverError('not_found', 'The machine is off.')
  if (machine.readyAt > now) throw new DriverError('unavailable', "The guest's agent does not answer.")
  return machine
}
