import { isIPv4 } from 'node:net'
import { RESOLVER } from '../addresses.ts'
import type { GuestAddress, MachineSpec, PrivateCard } from '../driver.ts'
import { fat12Files, fat12Volume } from './fat12.ts'

export type SeedSettings = Pick<
  MachineSpec,
  'serverId' | 'hostname' | 'username' | 'sshPublicKeys' | 'userData' | 'interfaces'
> & { passwordHash: string | null }

/**
 * The volume from which a guest's cloud-init learns who it is (NoCloud: a FAT volume labelled CIDATA).
 *
 * What we ask for stands in vendor-data and what the customer asks for in user-data, so that neither has to be
 * parsed or merged here. cloud-init joins them, user-data winning per key: a customer's `#cloud-config` that gives
 * `users` replaces the user we would have made, as on other clouds.
 *
 * @throws RangeError when the user data does not fit (the volume holds 1.4 MB)
 */
export function seedVolume(settings: SeedSettings): Buffer {
  return fat12Volume(
    LABEL,
    new Map([
      ['meta-data', Buffer.from(metaData(settings))],
      ['network-config', Buffer.from(networkConfig(settings, []))],
      ['vendor-data', Buffer.from(vendorData(settings))],
      ['user-data', Buffer.from(settings.userData ?? '#cloud-config\n{}\n')],
    ]),
  )
}

const LABEL = 'CIDATA'

/** A seed with what the machine's cards are now, for its next boot. The rest is kept nowhere else, so it stays. */
export function withCards(
  seed: Buffer,
  settings: Pick<SeedSettings, 'interfaces'>,
  cards: readonly PrivateCard[],
): Buffer {
  const config = Buffer.from(networkConfig(settings, cards))
  return fat12Volume(LABEL, fat12Files(seed).set('network-config', config))
}

/** The instance id makes cloud-init do its per-instance work once: it must not change while the disk lives. */
function metaData(settings: SeedSettings): string {
  return `instance-id: ${JSON.stringify(settings.serverId)}\nlocal-hostname: ${JSON.stringify(settings.hostname)}\n`
}

/** Told, not asked for by DHCP, so that nobody else can answer. Version 2 is what all renderers of cloud-init take. */
function networkConfig(
  { interfaces }: Pick<SeedSettings, 'interfaces'>,
  cards: readonly PrivateCard[],
): string {
  const all = [
    ...interfaces.map(({ mac, addresses }) => ({ mac, config: firstCard(addresses) })),
    ...cards.map(({ mac, address, prefixLength }) => ({ mac, config: privateCard(address, prefixLength) })),
  ]
  const ethernets = all.map(({ mac, config }, at) => [
    `id${at}`,
    { match: { macaddress: mac }, 'set-name': `eth${at}`, ...config },
  ])
  return `${JSON.stringify({ version: 2, ethernets: Object.fromEntries(ethernets) })}\n`
}

/** Configures the card with the default route. Guests of earlier versions, which have no addresses, use DHCP. */
function firstCard(addresses: readonly GuestAddress[]): object {
  if (addresses.length === 0) return { dhcp4: true }
  const [ipv4, ipv6] = [true, false].map((isFour) =>
    addresses.find(({ gateway }) => isIPv4(gateway) === isFour),
  )
  return {
    dhcp4: false,
    dhcp6: false,
    'accept-ra': false,
    addresses: addresses.map(({ address, prefixLength }) => `${address}/${prefixLength}`),
    ...(ipv4 && { routes: [{ to: '0.0.0.0/0', via: ipv4.gateway }] }),
    // All renderers but netplan's make ::/64 of a route to ::/0.
    ...(ipv6 && { gateway6: ipv6.gateway }),
    nameservers: { addresses: [RESOLVER] },
  }
}

/** Configures a card of a private network, without which a guest starts all the same. */
function privateCard(address: string, prefixLength: number): object {
  const asks = { dhcp4: false, dhcp6: false, 'accept-ra': false }
  return { ...asks, optional: true, addresses: [`${address}/${prefixLength}`] }
}

/** JSON is YAML: no quoting to get wrong. */
export function vendorData(settings: Omit<SeedSettings, 'userData' | 'interfaces' | 'serverId'>): string {
  const user = {
    name: settings.username,
    shell: '/bin/bash',
    sudo: 'ALL=(ALL) NOPASSWD:ALL',
    lock_passwd: settings.passwordHash === null,
    ...(settings.passwordHash !== null && { hashed_passwd: settings.passwordHash }),
    ssh_authorized_keys: settings.sshPublicKeys,
  }
  const config = {
    hostname: settings.hostname,
    preserve_hostname: false,
    users: [user],
    ssh_pwauth: settings.passwordHash !== null,
    // Without RSA: making such a key takes an emulated CPU 15 seconds of the first boot.
    ssh_genkeytypes: ['ed25519', 'ecdsa'],
    disable_root: settings.username !== 'root',
    // By itself cloud-init reads the network's configuration once, and cards come and go.
    updates: { network: { when: ['boot'] } },
  }
  return `#cloud-config\n${JSON.stringify(config)}\n`
}
