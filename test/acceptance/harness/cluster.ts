import type { TestProject } from 'vitest/node'
import { ClusterService } from '../../cluster/harness/service.ts'

/** A real service with a zone on a real cluster for the suite. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const service = await ClusterService.open(3, [
    ...['--sample-seconds', '1'],
    ...['--rate-limits', '1000000,1000000,1000000'],
  ])
  project.provide('berthUrl', service.address)
  project.provide('berthToken', service.token)
  return () => service.dispose()
}
