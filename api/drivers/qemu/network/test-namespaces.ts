import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

/** The namespaces of a host and of the internet, by name, for `ip netns exec`. */
export interface Namespaces {
  net: string
  host: string
  /** Deletes both. */
  close(): Promise<void>
}

/**
 * For tests, as root: a host in a namespace, and the internet in another one, which finds 203.0.113.0/24 and
 * 2001:db8:5::/48 at the host. The host is 198.51.100.2, and the internet 198.51.100.1.
 */
export async function openNamespaces(): Promise<Namespaces> {
  const run = promisify(execFile)
  // A random part avoids the leftovers of a killed run whose process had the same pid.
  const own = `bp${process.pid}${randomBytes(2).toString('hex')}`
  const [net, host] = [`${own}-net`, `${own}-host`]
  const setUp = [
    ...[net, host].flatMap((name) => [`netns add ${name}`, `-n ${name} link set lo up`]),
    `-n ${net} link add w0 type veth peer name eth0 netns ${host}`,
    `-n ${net} addr add 198.51.100.1/24 dev w0`,
    `-n ${net} addr add 2001:db8:ffff::1/64 dev w0 nodad`,
    `-n ${net} link set w0 up`,
    `-n ${host} addr add 198.51.100.2/24 dev eth0`,
    `-n ${host} addr add 2001:db8:ffff::2/64 dev eth0 nodad`,
    `-n ${host} link set eth0 up`,
    `-n ${host} route add default via 198.51.100.1`,
    `-n ${host} -6 route add default via 2001:db8:ffff::1`,
    `-n ${net} route add 203.0.113.0/24 via 198.51.100.2`,
    `-n ${net} -6 route add 2001:db8:5::/48 via 2001:db8:ffff::2`,
  ]
  for (const line of setUp) await run('ip', line.split(' '))
  const close = async () => {
    for (const name of [net, host]) await run('ip', ['netns', 'delete', name])
  }
  return { net, host, close }
}
