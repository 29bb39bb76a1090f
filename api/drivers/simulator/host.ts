import { cpuTypes, features, type HostFacts } from '../driver.ts'

/** The simulated host, unless the options have another one. */
export const HOST: HostFacts = {
  compute: 'simulator',
  reason: 'machines exist in memory only',
  isReal: false,
  cpuTypes,
  features,
  cores: 64,
  ramMb: 512 * 1024,
  diskGb: 10_000,
  warnings: [],
}
