import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { networkId } from '../../api/drivers/qemu/network/namespace.ts'
import { folder, run } from '../process/harness/berthd.ts'
import { listening, startShell } from '../process/harness/child.ts'

const isRoot = process.getuid?.() === 0

/** The network namespace of the guests of this installation, as the file that holds it. */
function networkOf(data: string): string {
  return `/run/netns/berth-${networkId(data)}`
}

test.skipIf(!isRoot)(
  'machines never run as root: where only root reaches their folder the start is refused, nothing is simulated instead, and no network stays behind',
  async () => {
    const closed = folder()
    const data = path.join(closed, 'data')
    mkdirSync(data)
    // The file simulates an earlier start that found KVM hanging, so the check takes a second instead of twelve.
    writeFileSync(path.join(data, 'kvm-failed'), readFileSync('/proc/sys/kernel/random/boot_id'))
    for (const BERTH_COMPUTE of ['auto', 'qemu']) {
      expect(await run(['serve'], { BERTH_DATA: data, BERTH_COMPUTE, PORT: '0' })).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          new RegExp(`^BERTH_COMPUTE .* Machines would run as root, .*chmod o\\+x ${closed};`),
        ),
      })
      expect(existsSync(networkOf(data))).toBe(false)
    }
  },
  240_000,
)

test('check examines the machine itself, and only its missing protections refuse the start: emulation is unsafe for strangers', async () => {
  const open = folder()
  chmodSync(open, 0o711)
  const env = { BERTH_DATA: path.join(open, 'data'), BERTH_ACCEL: 'tcg', PORT: '0' }
  const { code, stdout } = await run(['check'], env)
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/^missing {2}virtualization: requested by BERTH_ACCEL=tcg\.$/m),
  ])
  expect(stdout).toMatch(/^ok {7}guest network$/m)
  expect(stdout).toMatch(
    isRoot ? /^ok {7}a user per server$/m : /^missing {2}a user per server: the service is not root/m,
  )
  expect(stdout).toMatch(/^ok {7}confinement$/m)
  const refused = await run(['serve'], { ...env, BERTH_PUBLIC: 'on' })
  expect(refused.code).toBe(2)
  const missing = [...refused.stderr.matchAll(/^ {2}([\w ]+): /gm)].map(([, name]) => name)
  expect(missing).toEqual([...stdout.matchAll(/^missing {2}([\w ]+): /gm)].map(([, name]) => name))
  // The machine offers root everything but KVM.
  if (isRoot) expect(missing.filter((name) => name !== 'limits')).toEqual(['virtualization'])
}, 240_000)

test.skipIf(!isRoot)(
  'a strict umask does not close the data folder to the users that machines run as; the network ends with the service',
  async () => {
    const open = folder()
    chmodSync(open, 0o711)
    const data = path.join(open, 'data')
    const env = { BERTH_DATA: data, BERTH_COMPUTE: 'qemu', BERTH_ACCEL: 'tcg', PORT: '0' }
    const service = startShell('umask 077', 'api/main.ts', 'serve', env)
    onTestFinished(() => void service.process.kill('SIGKILL'))
    expect(await listening(service)).toMatchObject({ is_simulated: false })
    for (const made of [data, path.join(data, 'vms')]) expect(statSync(made).mode & 0o777).toBe(0o711)
    expect(existsSync(networkOf(data))).toBe(true)
    service.process.kill('SIGTERM')
    await service.ended
    expect(existsSync(networkOf(data))).toBe(false)
  },
  240_000,
)

const CROWD = `
const net = require('node:net')
const from = (localAddress) => new Promise((done) => {
  const socket = net.connect({ port: 443, host: '127.0.0.1', localAddress })
  socket.once('connect', () => done(1)).once('error', () => done(0))
})
net.createServer(() => {}).listen(443, async () => {
  let open = 0
  for (let n = 0; n < 300; n += 1) open += await from('127.0.0.2')
  console.log(open, await from('127.0.0.3'))
  process.exit()
})`

test.skipIf(!isRoot)(
  'the firewall for the proxy keeps a single address from using up all connections',
  async () => {
    const inside = 'ip link set lo up && nft -f deploy/entry.nft && exec "$0" -e "$1"'
    const args = ['--net', 'sh', '-c', inside, process.execPath, CROWD]
    expect((await promisify(execFile)('unshare', args)).stdout).toBe('256 1\n')
  },
)
