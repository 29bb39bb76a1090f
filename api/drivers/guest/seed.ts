import { isIPv4 } from 'node:net'
import { RESOLVER } from '../addresses.ts'
import type { GuestAddress, MachineSpec, PrivateCard } from '../driver.ts'
import { fat12Files, fat12Volume } from './fat12.ts'

export type SeedSettings = Pick<
  MachineSpec,
  'instanceId' | 'hostname' | 'username' | 'sshPublicKeys' | 'userData' | 'interfaces'
> & { passwordHash: string | null }

/**
 * The volume from which a guest's cloud-init reads its identity (NoCloud: a FAT volume labelled CIDATA).
 *
 * The service's settings are in vendor-data and the customer's in user-data, so that neither has to be parsed or merged
 * here. cloud-init merges them, and user-data wins for each key: a customer's `#cloud-config` with `users` replaces the
 * default user, as on other clouds.
 *
 * @throws RangeError if the user data does not fit (the volume holds 1.4 MB)
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

/**
 * Returns a seed with the machine's current cards, for its next boot. The rest of the seed stays, because it is stored
 * nowhere else.
 */
export function withCards(
  seed: Buffer,
  settings: Pick<SeedSettings, 'interfaces'>,
  cards: readonly PrivateCard[],
): Buffer {
  const config = Buffer.from(networkConfig(settings, cards))
  return fat12Volume(LABEL, fat12Files(seed).set('network-config', config))
}

/** The instance id makes cloud-init do its per-instance work once: it must not change as long as the disk exists. */
function metaData(settings: SeedSettings): string {
  return `instance-id: ${JSON.stringify(settings.instanceId)}\nlocal-hostname: ${JSON.stringify(settings.hostname)}\n`
}

/**
 * The network is configured statically, so that no other machine can answer DHCP. All renderers of cloud-init accept
 * version 2.
 */
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
    // All renderers except netplan's turn a route to ::/0 into ::/64.
    ...(ipv6 && { gateway6: ipv6.gateway }),
    nameservers: { addresses: [RESOLVER] },
  }
}

/** Configures a card of a private network, which a guest does not need to boot. */
function privateCard(address: string, prefixLength: number): object {
  const asks = { dhcp4: false, dhcp6: false, 'accept-ra': false }
  return { ...asks, optional: true, addresses: [`${address}/${prefixLength}`] }
}

/** JSON is valid YAML, and needs no special quoting. */
export function vendorData(settings: Omit<SeedSettings, 'userData' | 'interfaces' | 'instanceId'>): string {
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
    // RSA is left out, because generating a key takes an emulated CPU 15 seconds of the first boot.
    ssh_genkeytypes: ['ed25519', 'ecdsa'],
    disable_root: settings.username !== 'root',
    // By default cloud-init reads the network configuration only once, but cards come and go.
    updates: { network: { when: ['boot'] } },
  }
  return `#cloud-config\n${JSON.stringify(config)}\n`
}
