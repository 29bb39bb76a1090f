import { availableParallelism } from 'node:os'
import { driverSuite } from '../driver-suite.ts'
import { QemuWorld } from './test-world.ts'

driverSuite('QEMU', async () => {
  const world = await QemuWorld.open()
  return Object.assign(world, { bootSlots: availableParallelism(), loader: await world.makeLoader() })
})
