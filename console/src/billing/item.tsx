import type { UsageItem } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { imagesQuery } from '../image-queries.ts'
import { isosQuery } from '../iso-queries.ts'
import { addressesQuery } from '../network-queries.ts'
import { snapshotsQuery } from '../servers/copies/queries.ts'
import { serversQuery } from '../servers/queries.ts'
import { volumesQuery } from '../volumes/queries.ts'
import { useBillingText } from './text.ts'

type ItemProps = Pick<UsageItem, 'item_type' | 'item_id' | 'item_name'>

/** The thing that a charge is for, such as "Server web-1": a link until it is deleted. */
export function Item({ item_type, item_id, item_name }: ItemProps) {
  const t = useBillingText()
  const isServer = item_type === 'server'
  const servers = useQuery({ ...serversQuery({}), enabled: isServer }).data
  const addresses = useQuery({ ...addressesQuery, enabled: item_type === 'address' }).data?.items ?? []
  const isSnapshot = item_type === 'snapshot'
  const snapshots = useQuery({ ...snapshotsQuery, enabled: isSnapshot }).data?.items ?? []
  const volumes = useQuery({ ...volumesQuery, enabled: item_type === 'volume' }).data?.items ?? []
  const images = useQuery({ ...imagesQuery, enabled: item_type === 'image' }).data?.items ?? []
  const isos = useQuery({ ...isosQuery, enabled: item_type === 'iso' }).data?.items ?? []
  // An account may have more servers than the first page shows: those beyond it are not known to be deleted.
  const isServerThere =
    servers !== undefined &&
    (servers.total > servers.items.length || servers.items.some(({ server_id }) => server_id === item_id))
  return (
    <span>
      {t.items[item_type]}{' '}
      {isServer && isServerThere ? (
        <Link to="/servers/$serverId" params={{ serverId: item_id }} className="title">
          {item_name}
        </Link>
      ) : addresses.some(({ address_id }) => address_id === item_id) ? (
        <Link to="/addresses" className="title">
          {item_name}
        </Link>
      ) : snapshots.some(({ snapshot_id }) => snapshot_id === item_id) ? (
        <Link to="/snapshots" className="title">
          {item_name}
        </Link>
      ) : volumes.some(({ volume_id }) => volume_id === item_id) ? (
        <Link to="/volumes" className="title">
          {item_name}
        </Link>
      ) : images.some(({ image_id }) => image_id === item_id) ? (
        <Link to="/images" className="title">
          {item_name}
        </Link>
      ) : isos.some(({ iso_id }) => iso_id === item_id) ? (
        <Link to="/isos" className="title">
          {item_name}
        </Link>
      ) : (
        item_name
      )}
    </span>
  )
}
