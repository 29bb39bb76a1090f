// The clients of the hcloud API that Debian has, against a real service with simulated servers.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ed25519 } from '../api/harness/keys.ts'
import { Front } from '../cluster/harness/front.ts'
import { startPostgres } from '../harness/postgres.ts'
import { openAccount } from '../process/harness/berthd.ts'
import { end, launch, type Process } from '../qemu/harness/service.ts'
import { catalogOf, run, toolsEnv, uploadIso } from './harness.ts'

const here = (name: string) => path.join(import.meta.dirname, name)

/** A service with public addresses, and the environment of a customer's tools. */
async function serve(): Promise<{ home: string; env: NodeJS.ProcessEnv; restart: () => Promise<void> }> {
  const home = mkdtempSync(path.join(tmpdir(), 'berth-hcloud-'))
  const flags = ['--data', home, '--compute', 'simulator', '--catalog', path.join(home, 'catalog.yaml')]
  writeFileSync(path.join(home, 'catalog.yaml'), catalogOf('micro'))
  const begin = (port: string) => launch([...flags, '--port', port], { BERTH_HCLOUD: 'on' })
  let service: Process = await begin('0')
  onTestFinished(async () => {
    await end(service, 'SIGINT')
    rmSync(home, { recursive: true, force: true })
  })
  const token = readFileSync(path.join(home, 'demo-token'), 'utf8').trim()
  const env = await toolsEnv({ url: service.address, token, home })
  await uploadIso(service.address, token)
  const restart = async () => {
    await end(service, 'SIGKILL')
    service = await begin(new URL(service.address).port)
  }
  return { home, env, restart }
}

test('hcloud-go 1.35 is answered by all calls of its client that Berth has', async () => {
  const { home, env } = await serve()
  const go = { ...env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: path.join(home, 'go') }
  await run(['go', 'build', '-o', path.join(home, 'walk'), here('walk.go')], go)
  expect(await run([path.join(home, 'walk'), ed25519()], env)).toBe('148 calls, 0 faults\n')
})

test('python-hcloud 1.18 is answered by all calls of its client that Berth has', async () => {
  const { env } = await serve()
  expect(await run(['/usr/bin/python3', here('walk.py'), ed25519()], env)).toBe('115 calls, 0 faults\n')
})

test('a playbook of Ansible changes all once, then nothing, and takes it away again', async () => {
  const { home, env } = await serve()
  const inventory = path.join(home, 'all.hcloud.yml')
  writeFileSync(inventory, 'plugin: hetzner.hcloud.hcloud\n')
  const own = { ...env, PYTHONPATH: here('shim'), PYTHONDONTWRITEBYTECODE: '1', ANSIBLE_NOCOLOR: '1' }
  const variables = { public_key: ed25519(), ansible_python_interpreter: '/usr/bin/python3' }
  const play = async (state: string, ...more: string[]) => {
    const given = JSON.stringify({ ...variables, state })
    const said = await run(['ansible-playbook', ...more, '-e', given, here('ansible.yml')], own)
    return /changed=\d+ .* failed=\d+/.exec(said)?.[0].replace(/\s.*\s/, ' ') ?? said
  }
  expect(await play('present')).toBe('changed=6 failed=0')
  expect(await play('present', '--check')).toBe('changed=0 failed=0')
  expect(await play('present')).toBe('changed=0 failed=0')
  const listed = JSON.parse(await run(['ansible-inventory', '-i', inventory, '--list'], own))
  expect(listed.hcloud.hosts).toEqual(['web'])
  expect(await play('absent', '--check')).toBe('changed=5 failed=0')
  expect(await play('absent')).toBe('changed=5 failed=0')
})

/** Two processes behind one address, with a worker beside them, and the environment of a customer's tools. */
async function serveTwice(): Promise<{ env: NodeJS.ProcessEnv; kill: () => Promise<void> }> {
  const home = mkdtempSync(path.join(tmpdir(), 'berth-hcloud-'))
  const flags = ['--data', home, '--compute', 'simulator', '--catalog', path.join(home, 'catalog.yaml')]
  writeFileSync(path.join(home, 'catalog.yaml'), catalogOf('micro'))
  const postgres = await startPostgres()
  onTestFinished(() => postgres.remove())
  const DATABASE_URL = await postgres.create('berth')
  const token = await openAccount(DATABASE_URL)
  const begin = async (role: string) => {
    const service = await launch([...flags, '--role', role], { BERTH_HCLOUD: 'on', DATABASE_URL })
    onTestFinished(() => end(service, 'SIGKILL'))
    return service
  }
  const [first, second] = [await begin('api'), await begin('api')]
  await begin('worker')
  const front = new Front()
  await front.listen()
  onTestFinished(() => front.close())
  for (const { address } of [first, second]) front.add(address, address)
  const env = await toolsEnv({ url: second.address, token, home })
  return {
    env: { ...env, HCLOUD_ENDPOINT: `${front.origin}/hcloud/v1` },
    // The first connection goes to the first process.
    kill: () => end(first, 'SIGKILL'),
  }
}

const ORDER = ['server', 'create', '--name', 'web', '--type', 'nano', '--image', 'micro']

/** Begins to make a server with hcloud. */
function making(env: NodeJS.ProcessEnv) {
  const child = spawn('hcloud', ORDER, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text))
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { code, said: () => said }
}

const listed = (env: NodeJS.ProcessEnv, columns: string) =>
  run(['hcloud', 'server', 'list', '-o', 'noheader', '-o', columns], env)

test('one of two processes is killed while hcloud makes a server: hcloud ends well, and makes one', async () => {
  const { env, kill } = await serveTwice()
  const { code, said } = making(env)
  await expect.poll(said).toContain('Waiting for server')
  await kill()
  expect([await code, said()]).toEqual([0, expect.stringMatching(/Server \d+ created/)])
  expect(await listed(env, 'columns=name,status')).toMatch(/^web +running\n$/)
})

test('the only service is killed while hcloud makes a server: there is one, and hcloud says what it lost', async () => {
  const { env, restart } = await serve()
  const { code, said } = making(env)
  await expect.poll(() => listed(env, 'columns=name')).toBe('web\n')
  await restart()
  // hcloud tries a refused connection no second time.
  const lost = expect.stringMatching(/connection refused|EOF|reset by peer/)
  expect([await code, said()]).toEqual([1, lost])
  await expect.poll(() => listed(env, 'columns=name,status')).toMatch(/^web +running\n$/)
  await expect(run(['hcloud', ...ORDER], env)).rejects.toThrow(/uniqueness_error/)
})
