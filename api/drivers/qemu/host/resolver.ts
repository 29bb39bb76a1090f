import { readFile } from 'node:fs/promises'

/**
 * The name server that guests are sent to: this host's first. One that listens on the loopback only, which guests must
 * not reach, usually asks others: systemd-resolved says which.
 * @returns null where there is none that could be reached
 */
export async function hostResolver(): Promise<string | null> {
  for (const file of ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']) {
    const found = (await nameservers(file)).find((address) => !/^127\.|^0\.0\.0\.0$/.test(address))
    if (found !== undefined) return found
  }
  return null
}

/** The name servers of IPv4 that a file names; none where it is not there. */
export async function nameservers(file = '/etc/resolv.conf'): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return [...text.matchAll(/^nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm)].map(([, address = '']) => address)
}
