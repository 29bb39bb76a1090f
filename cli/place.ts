import type { Berth, Zone } from '@berth/sdk'
import { type Command, Option } from 'commander'
import { exitCodes, Refusal } from './errors.ts'
import { find } from './find.ts'

export interface PlaceOptions {
  zone?: string | undefined
  cpuType?: 'amd' | 'intel' | undefined
}

/** Adds the options of what prices depend on. */
export function addPlaceOptions(command: Command): Command {
  return command
    .option('--zone <zone>', 'where; the first zone without it')
    .addOption(
      new Option('--cpu-type <type>', 'what the zone has without it').choices(['amd', 'intel'] as const),
    )
}

/** Where that is; without options the first zone, and the first type of CPU that it has. @throws Refusal where there is none */
export async function placeOf(
  berth: Berth,
  { zone, cpuType }: PlaceOptions,
): Promise<Pick<Zone, 'zone_slug'> & { cpu_type: 'amd' | 'intel' }> {
  const place = zone === undefined ? (await berth.zones.list())[0] : await find(berth, 'zone', zone)
  if (!place) throw new Refusal('There is no zone.', 'Ask the operator for one.', exitCodes.notFound)
  return { zone_slug: place.zone_slug, cpu_type: cpuType ?? place.cpu_types[0] ?? 'amd' }
}
