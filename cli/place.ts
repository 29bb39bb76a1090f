import { type Berth, cpuTypes, type Zone } from '@berth/sdk'
import { type Command, Option } from 'commander'
import { exitCodes, Refusal } from './errors.ts'
import { find, kind } from './find.ts'

export const zoneKind = kind({
  noun: 'zone',
  all: (berth) => berth.zones.list(),
  id: ({ zone_slug }) => zone_slug,
  name: ({ zone_slug }) => zone_slug,
})

export interface PlaceOptions {
  zone?: string | undefined
  cpuType?: 'amd' | 'intel' | undefined
}

/** Adds --zone and --cpu-type, which prices depend on. */
export function addPlaceOptions(command: Command): Command {
  return command
    .option('--zone <zone>', 'zone (default: the first one)')
    .addOption(new Option('--cpu-type <type>', "CPU type (default: the zone's first)").choices(cpuTypes))
}

/** Resolves the options; by default the first zone and its first CPU type. @throws Refusal if there is none */
export async function placeOf(
  berth: Berth,
  { zone, cpuType }: PlaceOptions,
): Promise<Pick<Zone, 'zone_slug'> & { cpu_type: 'amd' | 'intel' }> {
  const place = zone === undefined ? (await berth.zones.list())[0] : await find(berth, zoneKind, zone)
  if (!place) throw new Refusal('No zone is available.', 'Contact the operator.', exitCodes.notFound)
  return { zone_slug: place.zone_slug, cpu_type: cpuType ?? place.cpu_types[0] ?? 'amd' }
}
