import { join } from 'node:path'
import type { CpuType } from '../driver.ts'
import type { Accel } from './host/accel.ts'
import type { MachineFiles, MachineRecord } from './layout.ts'

const VENDORS: Record<CpuType, string> = { amd: 'AuthenticAMD', intel: 'GenuineIntel' }

/**
 * QEMU's arguments for a machine. Its own power-off leaves the process paused (`-action shutdown=pause`), so that
 * the reason is still known to a service that was not running at that moment.
 */
export function qemuArguments(
  record: MachineRecord,
  files: MachineFiles,
  sockets: string,
  accel: Accel,
  netdev: string,
): string[] {
  const { spec, direct, uuid } = record
  return [
    ...['-name', `guest=${spec.serverId},debug-threads=on`, '-uuid', uuid],
    ...['-nodefaults', '-no-user-config', '-display', 'none'],
    ...['-machine', 'q35,graphics=off,dump-guest-core=off', ...cpuArguments(accel, spec.cpuType)],
    ...['-m', `${spec.ramMb}M`, '-smp', String(spec.cpu)],
    ...['-action', 'shutdown=pause'],
    ...(direct ? ['-kernel', direct.kernel, '-initrd', direct.initrd, '-append', direct.append] : []),
    ...blockdev({ driver: 'file', 'node-name': 'f0', filename: files.disk, discard: 'unmap' }),
    ...blockdev({
      driver: 'qcow2',
      'node-name': 'd0',
      file: 'f0',
      discard: 'unmap',
      'detect-zeroes': 'unmap',
      // Not the one that the disk's header names: that is the guest's if it breaks out, and the data folder may move.
      backing: { driver: 'qcow2', file: { driver: 'file', filename: record.base } },
    }),
    ...['-device', 'virtio-blk-pci,id=disk0,drive=d0,bootindex=1'],
    ...blockdev({ driver: 'file', 'node-name': 'f1', filename: files.seed, 'read-only': true }),
    ...blockdev({ driver: 'raw', 'node-name': 'd1', file: 'f1', 'read-only': true }),
    ...['-device', 'virtio-blk-pci,id=seed0,drive=d1'],
    ...spec.interfaces.flatMap(({ mac }) => card(mac, netdev)),
    ...['-device', 'virtio-rng-pci'],
    ...['-device', 'virtio-balloon-pci,id=balloon0,guest-stats-polling-interval=5'],
    ...['-device', 'virtio-serial-pci', '-chardev', `socket,id=ga,${listen(join(sockets, 'ga.sock'))}`],
    ...['-device', 'virtserialport,chardev=ga,name=org.qemu.guest_agent.0'],
    ...[
      '-chardev',
      `socket,id=ser,${listen(join(sockets, 'serial.sock'))},${log(files)}`,
      '-serial',
      'chardev:ser',
    ],
    ...['-chardev', `socket,id=qmp,${listen(qmpSocket(sockets))}`, '-mon', 'chardev=qmp,mode=control'],
    ...['-pidfile', files.pid],
    ...['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
  ]
}

export function qmpSocket(sockets: string): string {
  return join(sockets, 'qmp.sock')
}

function cpuArguments(accel: Accel, cpuType: CpuType): string[] {
  if (accel === 'kvm') return ['-accel', 'kvm', '-cpu', 'host']
  // The translation cache, 64 MB, is most of what a small emulated machine takes beyond its own memory.
  return ['-accel', 'tcg,thread=multi,tb-size=64', '-cpu', `max,vendor=${VENDORS[cpuType]}`]
}

function card(mac: string, netdev: string): string[] {
  return ['-netdev', netdev, '-device', `virtio-net-pci,id=net0,netdev=n0,mac=${mac},romfile=`]
}

function blockdev(options: object): string[] {
  return ['-blockdev', JSON.stringify(options)]
}

function listen(path: string): string {
  return `path=${escaped(path)},server=on,wait=off`
}

function log(files: MachineFiles): string {
  return `logfile=${escaped(files.serialLog)},logappend=on`
}

/** A comma ends a value in QEMU's option lists, unless it is doubled. */
export function escaped(value: string): string {
  return value.replaceAll(',', ',,')
}
