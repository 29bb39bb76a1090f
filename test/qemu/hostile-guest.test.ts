import { readdirSync, statSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Service } from './harness/service.ts'

const service = new Service()
let id: string
let asRoot: (script: string) => Promise<string>

beforeAll(async () => {
  await service.prepare()
  await service.start()
  const { identity, sshKeyId } = await service.addKey()
  id = (await service.create({ ssh_key_ids: [sshKeyId] })).server_id
  await service.settle(id)
  asRoot = (script) => service.ssh(id, `sudo sh -c '${script}'`, identity)
})

afterAll(() => service.dispose())

/** Plays an agent that lies in its replies, and floods the service when it is asked to thaw. */
const AGENT = `
killall qemu-ga
cat > /agent <<"END"
exec 3<>"$(echo /dev/vport*p1)"
while read -r line <&3; do
  case "$line" in
    *sync*) printf "\\377{\\"return\\": %s}\\n" "$(echo "$line" | sed "s/.*\\"id\\" *: *\\([0-9]*\\).*/\\1/")" >&3 ;;
    *thaw*) yes "{\\"error\\": {\\"desc\\": \\"\\\\u001b[2J\\"}, \\"__proto__\\": {}" >&3 ;;
    *) printf "{\\"return\\": 1e999}\\n" >&3 ;;
  esac
done
END
sh /agent > /dev/null 2>&1 &`

test('a guest whose root replaces its agent is copied nevertheless', async () => {
  await asRoot(AGENT)
  const { status, body } = await service.call('POST', '/snapshots', { server_id: id, name: 'kept' })
  expect(status).toBe(202)
  await service.settle(id)
  expect((await service.call('GET', `/snapshots/${body.snapshot_id}`)).body.status).toBe('available')
  expect((await service.call('GET', `/servers/${id}`)).body.status).toBe('running')
  expect(service.output).not.toContain('\u001b')
})

/** Returns the host's addresses, but only two of its links to guests, since each installation on a host has one. */
function addressesOfHost(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((of) => (of ?? []).map(({ address }) => address))
  const isLink = (address: string) => address.startsWith('169.254.')
  return [...all.filter((address) => !isLink(address)), ...all.filter(isLink).slice(0, 2)]
}

test('root in a guest finds the API and metadata at no address of the host, and its output fills no disk', async () => {
  const { port } = new URL(service.address)
  const others = ['10.0.2.2', '169.254.169.254', '10.64.0.1', '0.0.0.0', '::ffff:127.0.0.1']
  // Ports are tried one after the other, because too many processes would exhaust the guest's memory and end its sshd.
  for (const to of [port, '80']) {
    const asks = [...new Set([...addressesOfHost(), ...others])].map(
      (address) =>
        `(printf "GET / HTTP/1.0\\r\\nX-Forwarded-For: 127.0.0.1\\r\\n\\r\\n" | timeout 5 nc -w 4 ${address} ${to}) 2>&1 &`,
    )
    expect(await asRoot(`${asks.join('\n')}\nwait`)).not.toMatch(/HTTP|berth/)
  }
  await asRoot('timeout 5 yes "$(head -c 4000 /dev/zero | tr "\\\\0" A)" > /dev/ttyS0; true')
  const folder = path.join(service.dataDir, 'vms', id, 'log')
  for (const name of readdirSync(folder))
    expect(statSync(path.join(folder, name)).size).toBeLessThan(2 * 1024 * 1024)
})
