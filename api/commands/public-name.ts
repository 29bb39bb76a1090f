import { networkInterfaces } from 'node:os'
import type { Config } from '../config.ts'

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|localhost)$/

/** True if only programs on this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host)
}

/**
 * The host in customers' ssh commands. If ports listen on all addresses, this is the first address that
 * others can reach.
 */
export function publicHost({ publicName, guestHost }: Pick<Config, 'publicName' | 'guestHost'>): string {
  if (publicName !== null) return publicName
  if (guestHost !== '0.0.0.0' && guestHost !== '::') return guestHost
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return addresses.find((address) => !address.internal && address.family === 'IPv4')?.address ?? '127.0.0.1'
}

/**
 * Returns the public URL of the API if it has a public name: with TLS behind a proxy, otherwise the service's
 * own.
 */
export function publicUrl(
  config: Pick<Config, 'publicName' | 'host' | 'port' | 'trustProxy'>,
): string | undefined {
  const { publicName, host, port, trustProxy } = config
  if (publicName === null) return undefined
  const isProxied = trustProxy.length > 0 || isLoopback(host)
  return isProxied ? `https://${publicName}/v1` : `http://${publicName}:${port}/v1`
}
