// Real guests that are made by hcloud and by Packer, on a host of its own in namespaces, and reached by the addresses
// that these tools print.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { microImage } from '../../api/drivers/qemu/images/test-image.ts'
import { type Namespaces, openNamespaces } from '../../api/drivers/qemu/network/test-namespaces.ts'
import { end, launch, type Process } from '../qemu/harness/service.ts'
import { catalogOf, run, toolsEnv } from './harness.ts'

const home = mkdtempSync(path.join(tmpdir(), 'berth-hcloud-qemu-'))
const key = path.join(home, 'id_ed25519')

let spaces: Namespaces
let service: Process
let env: NodeJS.ProcessEnv

const within = (name: string) => ['ip', 'netns', 'exec', name]

/** Runs a program on the customer's machine. */
const customer = (...command: string[]) => run([...within(spaces.net), ...command], env)

function ssh(address: string, command: string): Promise<string> {
  const trust = ['-o', 'StrictHostKeyChecking=no', '-o', `UserKnownHostsFile=${home}/known`]
  return customer('ssh', '-i', key, ...trust, '-o', 'LogLevel=ERROR', `berth@${address}`, command)
}

beforeAll(async () => {
  chmodSync(home, 0o711)
  await microImage(home)
  spaces = await openNamespaces()
  writeFileSync(path.join(home, 'catalog.yaml'), catalogOf('micro'))
  const flags = ['--data', home, '--catalog', `${home}/catalog.yaml`, '--compute', 'qemu']
  service = await launch([...flags, '--host', '198.51.100.2'], { BERTH_HCLOUD: 'on' }, within(spaces.host))
  await run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', key])
  const token = readFileSync(path.join(home, 'demo-token'), 'utf8').trim()
  env = await toolsEnv({ url: service.address, token, home }, within(spaces.net))
})

afterAll(async () => {
  for (const name of ['web', 'copy']) await customer('hcloud', 'server', 'delete', name).catch(() => {})
  if (service) await end(service, 'SIGINT')
  await spaces?.close()
  rmSync(home, { recursive: true, force: true })
})

const addressIn = (said: string) => /IPv4: (\S+)/.exec(said)?.[1] ?? said

test('a server that hcloud makes is reached by ssh at the address that it prints', async () => {
  await customer('hcloud', 'ssh-key', 'create', '--name', 'laptop', '--public-key-from-file', `${key}.pub`)
  const order = ['--type', 'nano', '--image', 'micro', '--ssh-key', 'laptop']
  const said = await customer('hcloud', 'server', 'create', '--name', 'web', ...order)
  expect(await ssh(addressIn(said), 'hostname')).toBe('web\n')
  const own = ['-i', key, '-o', 'StrictHostKeyChecking=no', 'whoami']
  expect(await customer('hcloud', 'server', 'ssh', '--user', 'berth', 'web', ...own)).toMatch(/^berth$/m)
})

test('Packer makes an image on a server of its own, and a server starts from it', async () => {
  const builder = {
    type: 'hcloud',
    image: 'micro',
    server_type: 'nano',
    location: 'local-1',
    ssh_username: 'berth',
  }
  const template = {
    builders: [{ ...builder, endpoint: env.HCLOUD_ENDPOINT, token: env.HCLOUD_TOKEN, snapshot_name: 'made' }],
  }
  writeFileSync(path.join(home, 'packer.json'), JSON.stringify(template))
  const said = await customer('packer', 'build', path.join(home, 'packer.json'))
  const image = /A snapshot was created: .*\(ID: (\d+)\)/.exec(said)?.[1] ?? said
  const order = ['--type', 'nano', '--image', image, '--ssh-key', 'laptop']
  const made = await customer('hcloud', 'server', 'create', '--name', 'copy', ...order)
  expect(await ssh(addressIn(made), 'hostname')).toBe('copy\n')
  // Packer leaves neither its server nor its key.
  expect(await customer('hcloud', 'server', 'list', '-o', 'noheader', '-o', 'columns=name')).toMatch(
    /^(copy|web)\n(copy|web)\n$/,
  )
})
