import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { Service } from '../../qemu/harness/service.ts'

/** A real service on real machines for the suite; none where the surroundings name one already. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (process.env.BERTH_URL) return
  const service = new Service()
  await service.prepare()
  await service.start()
  project.provide('berthUrl', service.address)
  project.provide('berthToken', readFileSync(path.join(service.dataDir, 'demo-token'), 'utf8').trim())
  return () => service.dispose()
}
