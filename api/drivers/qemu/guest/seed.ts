import type { MachineSpec } from '../../driver.ts'
import { fat12Volume } from './fat12.ts'

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
    'CIDATA',
    new Map([
      ['meta-data', Buffer.from(metaData(settings))],
      ['network-config', Buffer.from(networkConfig(settings))],
      ['vendor-data', Buffer.from(vendorData(settings))],
      ['user-data', Buffer.from(settings.userData ?? '#cloud-config\n{}\n')],
    ]),
  )
}

/** The instance id makes cloud-init do its per-instance work once: it must not change while the disk lives. */
function metaData(settings: SeedSettings): string {
  return `instance-id: ${JSON.stringify(settings.serverId)}\nlocal-hostname: ${JSON.stringify(settings.hostname)}\n`
}

function networkConfig({ interfaces }: SeedSettings): string {
  const ethernets = interfaces.map(({ mac }, at) => [
    `id${at}`,
    { match: { macaddress: mac }, 'set-name': `eth${at}`, dhcp4: true },
  ])
  return `${JSON.stringify({ version: 2, ethernets: Object.fromEntries(ethernets) })}\n`
}

/** JSON is YAML: no quoting to get wrong. */
function vendorData(settings: SeedSettings): string {
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
  }
  return `#cloud-config\n${JSON.stringify(config)}\n`
}
