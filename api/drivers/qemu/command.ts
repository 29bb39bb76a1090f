import { join } from 'node:path'
import type { CpuType } from '../driver.ts'
import type { Accel } from './host/accel.ts'
import { SERIAL_FD } from './host/confine.ts'
import { imageNode } from './image-node.ts'
import { bootsIso, driveArguments } from './iso-drive.ts'
import { type MachineFiles, type MachineRecord, seedOf } from './layout.ts'
import { type Plugs, slotArguments } from './plug.ts'
import { type LentVolume, volumeArguments } from './volume-plug.ts'

const VENDORS: Record<CpuType, string> = { amd: 'AuthenticAMD', intel: 'GenuineIntel' }

/** The host ends of a machine's network cards, and its volumes. `plugs` is null if the machine has no slots for cards. */
export interface Ends {
  netdev: string
  plugs: Plugs | null
  volumes: readonly LentVolume[]
}

/**
 * Returns QEMU's arguments for a machine. After a guest's own power-off the process stays paused (`-action
 * shutdown=pause`), so that a service that was not running at that moment can still read the reason.
 */
export function qemuArguments(
  record: MachineRecord,
  files: MachineFiles,
  sockets: string,
  accel: Accel,
  { netdev, plugs, volumes }: Ends,
): string[] {
  const { spec, rescue, uuid } = record
  // The kernel of an image would come before an ISO.
  const direct = bootsIso(record) ? null : (rescue ?? record).direct
  return [
    ...['-name', `guest=${spec.serverId},debug-threads=on`, '-uuid', uuid],
    ...['-nodefaults', '-no-user-config', '-display', 'none'],
    ...['-machine', 'q35,graphics=off,dump-guest-core=off', ...cpuArguments(accel, spec.cpuType)],
    ...['-m', `${spec.ramMb}M`, '-smp', String(spec.cpu)],
    ...['-action', 'shutdown=pause'],
    ...(direct ? ['-kernel', direct.kernel, '-initrd', direct.initrd, '-append', direct.append] : []),
    ...[
      '-object',
      JSON.stringify({ 'qom-type': 'throttle-group', id: 'plan', limits: diskLimits(spec.cpu) }),
    ],
    // The order of the devices is that of the guest's disks: the rescue system expects its own to be the first.
    ...(rescue ? disk('rescue', files.rescueDisk, rescue.base, 'bootindex=1') : []),
    ...(rescue ? [] : disk('0', files.disk, record.base, 'bootindex=1')),
    ...blockdev({ driver: 'file', 'node-name': 'f1', filename: seedOf(record, files), 'read-only': true }),
    ...blockdev({ driver: 'raw', 'node-name': 'd1', file: 'f1', 'read-only': true }),
    ...['-device', 'virtio-blk-pci,id=seed0,drive=d1'],
    ...(rescue ? disk('0', files.disk, record.base, 'serial=server-disk') : []),
    ...spec.interfaces.flatMap(({ mac }) => card(mac, netdev)),
    ...(plugs ? slotArguments(plugs) : []),
    ...['-device', 'virtio-rng-pci'],
    ...['-device', 'virtio-balloon-pci,id=balloon0,guest-stats-polling-interval=5'],
    ...['-device', 'virtio-serial-pci', '-chardev', `socket,id=ga,${listen(join(sockets, 'ga.sock'))}`],
    ...['-device', 'virtserialport,chardev=ga,name=org.qemu.guest_agent.0'],
    // Volumes come last, so that the devices before them keep their places.
    ...volumeArguments(volumes),
    ...driveArguments(record.iso, files.run, !direct && !rescue),
    ...screenArguments(sockets),
    ...['-add-fd', `fd=${SERIAL_FD},set=1`],
    ...[
      '-chardev',
      `socket,id=ser,${listen(join(sockets, 'serial.sock'))},logfile=/dev/fdset/1,logappend=on`,
    ],
    ...['-serial', 'chardev:ser'],
    ...['-chardev', `socket,id=qmp,${listen(qmpSocket(sockets))}`, '-mon', 'chardev=qmp,mode=control'],
    ...['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
  ]
}

/**
 * Returns QEMU's arguments for a display with a pointer that moves as the viewer's does. Only viewers make QEMU copy
 * and encode it.
 */
function screenArguments(sockets: string): string[] {
  const socket = `unix:${escaped(screenSocket(sockets))}`
  return ['-device', 'VGA', '-device', 'virtio-tablet-pci', '-vnc', `${socket},share=force-shared`]
}

export function screenSocket(sockets: string): string {
  return join(sockets, 'vnc.sock')
}

export function qmpSocket(sockets: string): string {
  return join(sockets, 'qmp.sock')
}

function cpuArguments(accel: Accel, cpuType: CpuType): string[] {
  if (accel === 'kvm') return ['-accel', 'kvm', '-cpu', 'host']
  // The translation cache (64 MB) is most of what a small emulated machine needs besides its own memory.
  return ['-accel', 'tcg,thread=multi,tb-size=64', '-cpu', `max,vendor=${VENDORS[cpuType]}`]
}

function card(mac: string, netdev: string): string[] {
  return ['-netdev', netdev, '-device', `virtio-net-pci,id=net0,netdev=n0,mac=${mac},romfile=`]
}

/** I/O limits of a guest's disk by its plan's CPUs, with a burst that allows for boots and installations. */
function diskLimits(cpu: number): Record<string, number> {
  const operations = 2000 + 1000 * cpu
  const bytes = (100 + 50 * cpu) * 2 ** 20
  return {
    ...{ 'iops-total': operations, 'iops-total-max': 3 * operations, 'iops-total-max-length': 30 },
    ...{ 'bps-total': bytes, 'bps-total-max': 3 * bytes, 'bps-total-max-length': 30 },
  }
}

/** A disk of the guest, within the limits of the plan. */
function disk(name: string, file: string, base: string, option: string): string[] {
  return [
    ...blockdev({ driver: 'file', 'node-name': `f${name}`, filename: file, discard: 'unmap' }),
    ...blockdev({
      driver: 'qcow2',
      'node-name': `d${name}`,
      file: `f${name}`,
      discard: 'unmap',
      'detect-zeroes': 'unmap',
      // The images below are named here: a guest that broke out can rewrite its disk's header, and the data folder may
      // move.
      backing: imageNode(base),
    }),
    // A block node passes `discard` on only if its own options say so.
    ...blockdev({
      driver: 'throttle',
      'node-name': `t${name}`,
      'throttle-group': 'plan',
      file: `d${name}`,
      discard: 'unmap',
    }),
    ...['-device', `virtio-blk-pci,id=disk${name},drive=t${name},${option}`],
  ]
}

function blockdev(options: object): string[] {
  return ['-blockdev', JSON.stringify(options)]
}

function listen(path: string): string {
  return `path=${escaped(path)},server=on,wait=off`
}

/** Doubles commas, since a single one ends a value in QEMU's option lists. */
export function escaped(value: string): string {
  return value.replaceAll(',', ',,')
}
