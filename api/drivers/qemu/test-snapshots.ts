import { type Clock, systemClock } from '../../clock.ts'
import type { VolumeDriver } from '../volumes.ts'
import { BootingMachines } from './booting.ts'
import { Cgroups } from './host/cgroup.ts'
import type { Context } from './launch.ts'
import { Layout } from './layout.ts'
import { Machine } from './machine.ts'
import { Snapshots } from './snapshots.ts'
import { VolumeShelf } from './volume-shelf.ts'
import { QemuVolumes } from './volumes.ts'

class TestVolumes extends QemuVolumes {
  protected readonly machine: (serverId: string) => Machine
  constructor(shelf: VolumeShelf, machine: (serverId: string) => Machine) {
    super(shelf)
    this.machine = machine
  }
}

/** For tests: the snapshots and volumes in a data folder that no driver has open. */
export async function openSnapshots(
  dataDir: string,
  reserveBytes = 0,
  clock: Clock = systemClock,
): Promise<{ snapshots: Snapshots; volumes: VolumeDriver; close: () => Promise<void> }> {
  const quiet = () => {}
  const layout = new Layout(dataDir)
  const context: Context = {
    layout,
    accel: 'tcg',
    network: 'slirp',
    guests: null,
    address: '127.0.0.1',
    volumes: new VolumeShelf(layout),
    cgroups: await Cgroups.open('berth-test'),
    clock,
    log: { info: quiet, warn: quiet, error: quiet },
    ownUsers: process.getuid?.() === 0,
    isWalled: true,
    changed: quiet,
    kernelRuns: quiet,
  }
  const machines = new Map<string, Machine>()
  const machine = (id: string) => {
    const known = machines.get(id) ?? new Machine(id, context)
    machines.set(id, known)
    return known
  }
  const inspect = (id: string) => machine(id).inspect()
  const booting = new BootingMachines(systemClock)
  const snapshots = new Snapshots({ context, booting, machine, inspect, reserveBytes })
  const close = async () => {
    await snapshots.close()
    await Promise.all([...machines.values()].map((each) => each.close()))
    await context.cgroups.close()
  }
  return { snapshots, volumes: new TestVolumes(context.volumes, machine), close }
}
