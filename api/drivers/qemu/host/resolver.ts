import { readFile } from 'node:fs/promises'

/**
 * Returns the name server for guests: the first one of this host. If that listens on the loopback only, which guests
 * can't reach, it is usually a forwarder, and systemd-resolved names the servers behind it.
 * @returns null if no name server can be reached
 */
export async function hostResolver(): Promise<string | null> {
  for (const file of ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']) {
    const found = (await nameservers(file)).find((address) => !/^127\.|^0\.0\.0\.0$/.test(address))
    if (found !== undefined) return found
  }
  return null
}

/** Returns the IPv4 name servers that a file lists; none if it does not exist. */
export async function nameservers(file = '/etc/resolv.conf'): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return [...text.matchAll(/^nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm)].map(([, address = '']) => address)
}
