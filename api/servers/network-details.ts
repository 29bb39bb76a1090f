import { findZone, hostOf } from '../catalog/file.ts'
import type { Database } from '../database/database.ts'
import type { GuestAddress } from '../drivers/driver.ts'
import { moduleOf } from '../drivers/modules/modules.ts'
import { macOf, membershipsOf } from '../networks/memberships.ts'
import { findNetworks } from '../networks/networks.ts'
import { prefixLengthOf } from '../networks/ranges.ts'
import { allPorts } from '../ports/ports.ts'
import { portView } from '../ports/view.ts'
import type { ServerDetails } from './details-schema.ts'
import type { ServerTable } from './tables.ts'
import type { SshPlace } from './view.ts'

type Network = ServerDetails['network']
type Addresses = Pick<Network, 'ipv4' | 'ipv6' | 'resolvers'>
type NetworkOptions = SshPlace & { db: Database }

/** The addresses, private networks and published ports of a server. */
export async function networkDetails(options: NetworkOptions, server: ServerTable): Promise<Network> {
  const { db, catalog, sshHost } = options
  const ports = await allPorts(db, server.server_id)
  const host = hostOf(catalog, server.zone_slug, sshHost)
  return {
    hostname: server.name,
    mac: server.mac,
    ...ownAddresses(options, server),
    private: await privateCards(db, server),
    published_ports: ports.map((row) => portView(row, host)),
  }
}

/** The addresses that the guest is configured with. */
function ownAddresses({ catalog }: NetworkOptions, { number, zone_slug }: ServerTable): Addresses {
  if (number === null) return { ipv4: null, ipv6: null, resolvers: [] }
  const zone = findZone(catalog, zone_slug) ?? { zone_slug }
  const { ipv4, ipv6, resolvers } = moduleOf(zone).addresses(zone, number)
  return { ipv4: addressView(ipv4), ipv6: ipv6 && addressView(ipv6), resolvers: [...resolvers] }
}

/** Cards in private networks, each with the command that sets its address in a guest that is running. */
async function privateCards(db: Database, server: ServerTable): Promise<Network['private']> {
  const memberships = membershipsOf(server)
  const ids = memberships.map(({ network_id }) => network_id)
  const names = new Map(
    (await findNetworks(db, server.account_id, ids)).map(({ network_id, name }) => [network_id, name]),
  )
  return memberships.map(({ network_id, ip_range, ipv4 }) => {
    const [mac, prefix_length] = [macOf(server.server_id, network_id), prefixLengthOf(ip_range)]
    const command = `for n in /sys/class/net/*; do grep -q ${mac} $n/address && ip addr add ${ipv4}/${prefix_length} dev \${n##*/} && ip link set \${n##*/} up; done`
    const card = { network_id, name: names.get(network_id) ?? '', ip_range, mac, ipv4, prefix_length }
    return { ...card, command: `sudo sh -c '${command}'` }
  })
}

function addressView({ address, prefixLength, gateway }: GuestAddress) {
  return { address, prefix_length: prefixLength, gateway }
}
