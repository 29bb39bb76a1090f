import { availableParallelism } from 'node:os'
import { driverSuite } from '../driver-suite.ts'
import { QemuWorld } from './test-world.ts'

driverSuite('QEMU', async () => Object.assign(await QemuWorld.open(), { bootSlots: availableParallelism() }))
