import { type Catalog, imagesOf } from '../catalog/file.ts'
import { sellableIn } from '../catalog/room.ts'
import { usageByPool } from '../catalog/usage.ts'
import type { Clock } from '../clock.ts'
import type { Queries } from '../database/database.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { ImageState } from '../drivers/images.ts'
import { moduleOfPool } from '../drivers/modules/modules.ts'
import { soon } from '../drivers/soon.ts'
import type { OperatedImage } from './schema.ts'

/** A host that fails in any way must not hide the others. */
const unknown = () => null

interface Place {
  db: Queries
  clock: Clock
  catalog: Catalog
  drivers: Drivers
}

/** Returns a row for each zone, in the order of the catalogue. */
export async function roomByZone({ db, clock, catalog, drivers }: Place) {
  const [usage, hosts] = await Promise.all([
    usageByPool(db),
    Promise.all(
      drivers.pools.map(
        async (pool) => [pool, await soon(clock, drivers.at(pool).host().catch(unknown))] as const,
      ),
    ),
  ])
  const hostOf = new Map(hosts)
  return catalog.zones.map((zone) => {
    const pool = drivers.poolOf(zone)
    const host = hostOf.get(pool)
    return {
      zone_slug: zone.zone_slug,
      title: zone.title,
      pool,
      is_retired: zone.retired ?? false,
      total: host ? sellableIn(zone, host) : null,
      used: usage.get(pool) ?? { cpu: 0, ram_mb: 0, disk_gb: 0 },
    }
  })
}

/** Returns a row for each template or ISO in each pool that can have it. */
export function imagesByPool({ clock, catalog, drivers }: Place): Promise<OperatedImage[]> {
  const wanted = imagesOf(catalog).flatMap((offer) =>
    drivers.pools
      .filter((pool) => moduleOfPool(pool)?.image.isIn(offer.image))
      .map((pool) => ({ offer, pool })),
  )
  return Promise.all(
    wanted.map(async ({ offer, pool }) => {
      const state = await soon(clock, drivers.at(pool).image(offer.image, { isWanted: false }).catch(unknown))
      return {
        template: offer.slug,
        pool,
        is_retired: offer.retired ?? false,
        status: state?.state ?? 'unknown',
        progress: state?.state === 'preparing' ? Math.floor(state.progress * 100) : null,
        detail: state && detailOf(state),
        bytes: state?.state === 'ready' ? state.bytes : null,
      }
    }),
  )
}

function detailOf(state: ImageState): string | null {
  if (state.state === 'ready') return state.source
  if (state.state === 'preparing') return state.detail
  return state.state === 'failed' ? state.message : null
}
