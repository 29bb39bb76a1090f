import path from 'node:path'
import { addressesOf } from '../addresses.ts'
import { DriverError } from '../driver.ts'
import type { DriverModule } from '../module.ts'
import { ROUTED_GATEWAY } from './cards.ts'
import { volumeFolder } from './volume-devices.ts'
import { featuresOf, incusImages, withDefaults, zoneFaults, zoneFields } from './zone.ts'

/** Containers of Incus or LXD, on one machine or on a cluster. */
export const incus: DriverModule<'incus', typeof zoneFields, typeof incusImages.fields> = {
  name: 'incus',
  title: 'Incus',
  kind: 'container',
  isReal: true,
  isPerZone: true,
  isBoundToProcess: false,
  image: incusImages,
  zoneFields,
  zoneFaults,
  features: (zone) => (zone.incus ? featuresOf(zone.incus) : []),
  volumePath: volumeFolder,
  listensAt: (zone) => zone.incus?.listen ?? null,
  // Routed cards have one address, and a gateway that is the same for all.
  addresses: (zone, number) => ({
    ipv4: { ...addressesOf(number).ipv4, prefixLength: 32, gateway: ROUTED_GATEWAY },
    ipv6: null,
    resolvers: zone.incus?.nameservers ?? [],
  }),
  open: async ({ zones, address, log, dataDir, hasOffsite }) => {
    const section = zones()[0]?.incus
    if (!section) throw new DriverError('unavailable', 'The zone names no cluster.')
    // Loaded when it is needed: a catalogue is read without it.
    const { openIncus } = await import('./open.ts')
    const folder = hasOffsite ? path.join(dataDir, 'exports') : undefined
    return { driver: await openIncus({ zone: withDefaults(section), address, log, folder }), images: null }
  },
  zoneStock: async ({ incus: section }) => {
    if (!section) throw new DriverError('unavailable', 'The zone names no cluster.')
    return (await import('./stock.ts')).stockOf(withDefaults(section))
  },
  examine: async ({ zoneSlugs }) => ({
    walls: [
      {
        name: 'a kernel per server',
        stops: 'all guests of a host share its kernel: a guest that breaks out of it is root there',
        mend: 'Remove the zones with "driver: incus" from the catalogue.',
        gap: zoneSlugs.length === 0 ? null : `servers of ${zoneSlugs.join(', ')} are containers`,
      },
    ],
    warning: null,
    obstacle: null,
  }),
}
