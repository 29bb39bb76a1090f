import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import { microImage } from '../../../api/drivers/qemu/images/test-image.ts'

const root = path.resolve(import.meta.dirname, '../../..')

/** A `berthd serve` that listens. */
export interface Process {
  child: ChildProcess
  /** The URL of its API, including /v1. */
  address: string
  /** Its output since its start. */
  said(): string
}

/** Starts `berthd serve`. @param through a command that runs it @throws Error if it ends before it listens */
export async function launch(
  flags: readonly string[],
  env: NodeJS.ProcessEnv = {},
  through: readonly string[] = [],
): Promise<Process> {
  const service = [path.join(root, 'api/main.ts'), 'serve', '--port', '0', '--log', 'warn', ...flags]
  const [program = '', ...args] = [...through, process.execPath, ...service]
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  await until('the service is up', 800_000, () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the service ended: ${output}`)
    return output.includes('"msg":"listening"')
  })
  return { child, address: /"address":"([^"]+)"/.exec(output)?.[1] ?? '', said: () => output }
}

/** Ends a process that was launched, unless it has ended. */
export async function end({ child }: Process, signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await ended
}

/** A real `berthd serve` on real QEMU, with a data folder of its own. */
export class Service {
  readonly dataDir = passable(mkdtempSync(path.join(tmpdir(), 'berth-e2e-')))
  #process: Process | null = null

  /** Prepares the image for tests, and a catalogue with two ways to boot it. */
  async prepare(): Promise<void> {
    const image = await microImage(this.dataDir)
    const catalog = parse(readFileSync(path.join(root, 'catalog.yaml'), 'utf8'))
    const micro = catalog.templates.find((template: { slug: string }) => template.slug === 'micro')
    // The same disk as an operator's file: such images carry no kernel beside them and boot by their own GRUB.
    catalog.templates = [
      micro,
      { ...micro, slug: 'micro-disk', title: 'Micro from its own disk', image: [{ file: image.disk }] },
    ]
    writeFileSync(path.join(this.dataDir, 'catalog.yaml'), stringify(catalog))
  }

  async start(more: readonly string[] = []): Promise<void> {
    const catalog = path.join(this.dataDir, 'catalog.yaml')
    const flags = ['--data', this.dataDir, '--catalog', catalog, '--compute', 'qemu', ...more]
    this.#process = await launch(flags)
  }

  /** The service's output since its start. */
  get output(): string {
    return this.#process?.said() ?? ''
  }

  async stop(signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    if (this.#process) await end(this.#process, signal)
  }

  /** The URL of its API, including /v1. */
  get address(): string {
    return this.#process?.address ?? ''
  }

  /** The token of the demo account. */
  get token(): string {
    return readFileSync(path.join(this.dataDir, 'demo-token'), 'utf8').trim()
  }

  async call(method: string, url: string, body?: unknown) {
    const reply = await fetch(`${this.address}${url}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? null : JSON.parse(text) }
  }

  /** The body that orders a small server. */
  async order(more: Record<string, unknown> = {}, slug = 'micro'): Promise<Record<string, unknown>> {
    const templates = (await this.call('GET', '/templates')).body
    const template = templates.find((candidate: { slug: string }) => candidate.slug === slug)
    const plan = { plan_type: 'custom', cpu: 1, ram_mb: 256, disk_gb: 5 }
    const place = { zone_slug: 'local-1', cpu_type: 'amd' }
    return { ...place, template_id: template.template_id, ...plan, ...more }
  }

  /** Orders a server and returns it, still in `creating`. */
  async create(more: Record<string, unknown> = {}, slug = 'micro') {
    const { status, body } = await this.call('POST', '/servers', await this.order(more, slug))
    if (status !== 202) throw new Error(`create: ${status} ${JSON.stringify(body)}`)
    return body
  }

  /** Waits by long polling for the server's current operation, which must succeed. */
  async settle(serverId: string): Promise<void> {
    const newest = async () =>
      (await this.call('GET', `/servers/${serverId}/operations?limit=1`)).body.items[0]
    const { operation_id } = await newest()
    await until('the operation ends', 800_000, async () => {
      const { body } = await this.call('GET', `/servers/${serverId}/operations/${operation_id}?wait=30`)
      if (body.status === 'failed')
        throw new Error(`${body.type} failed: ${JSON.stringify(body.error)}\n${this.output}`)
      return body.status === 'succeeded'
    })
  }

  async act(
    serverId: string,
    action: 'start' | 'stop' | 'reboot' | 'rebuild' | 'rescue' | 'unrescue',
    body?: unknown,
  ): Promise<void> {
    const reply = await this.call('POST', `/servers/${serverId}/${action}`, body)
    if (reply.status !== 202) throw new Error(`${action}: ${JSON.stringify(reply.body)}`)
    await this.settle(serverId)
  }

  /**
   * Runs a command on the server the way a customer does: with the `command` of its details card, trusting only
   * the host keys that the card shows.
   */
  async ssh(serverId: string, command: string, identity: string | null): Promise<string> {
    const { ssh } = (await this.call('GET', `/servers/${serverId}/details`)).body
    const known = path.join(this.dataDir, `known-${serverId}`)
    const lines = ssh.host_key_fingerprints.map(
      (key: { type: string; public_key: string }) =>
        `[${ssh.host}]:${ssh.port} ${key.type} ${key.public_key}`,
    )
    writeFileSync(known, `${lines.join('\n')}\n`)
    const [program, ...args] = ssh.command.split(' ')
    const trust = [
      '-F',
      'none',
      '-o',
      `UserKnownHostsFile=${known}`,
      '-o',
      'StrictHostKeyChecking=yes',
      '-o',
      'ConnectTimeout=120',
    ]
    const proof = identity
      ? ['-i', identity, '-o', 'IdentitiesOnly=yes', '-o', 'BatchMode=yes']
      : ['-o', 'PubkeyAuthentication=no', '-o', 'NumberOfPasswordPrompts=1']
    const env = identity ? process.env : { ...process.env, ...this.#answering(ssh.password) }
    const { stdout } = await promisify(execFile)(program, [...trust, ...proof, ...args, command], {
      env,
      timeout: 240_000,
    })
    return stdout.trim()
  }

  /** The environment in which OpenSSH asks a program, not a person, for the password. */
  #answering(password: string): Record<string, string> {
    const file = path.join(this.dataDir, 'askpass')
    writeFileSync(file, '#!/bin/sh\necho "$BERTH_TEST_PASSWORD"\n')
    chmodSync(file, 0o700)
    return { SSH_ASKPASS: file, SSH_ASKPASS_REQUIRE: 'force', BERTH_TEST_PASSWORD: password }
  }

  /** Makes a key pair and adds it to the account. */
  async addKey(): Promise<{ identity: string; sshKeyId: string }> {
    const identity = path.join(this.dataDir, 'id_ed25519')
    await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'e2e', '-f', identity])
    const { body } = await this.call('POST', '/account/ssh_keys', {
      name: 'e2e',
      public_key: readFileSync(`${identity}.pub`, 'utf8'),
    })
    return { identity, sshKeyId: body.ssh_key_id }
  }

  /** Processes of this machine that name the server among their arguments: pid and command line. */
  processesOf(serverId: string): string[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
          return line.includes(serverId) ? [`${pid} ${line}`] : []
        } catch {
          return [] // the process has just ended
        }
      })
  }

  /** Deletes remaining servers, ends the service, and removes its data folder. */
  async dispose(): Promise<void> {
    const { items } = (await this.call('GET', '/servers')).body
    for (const { server_id } of items) {
      await this.call('DELETE', `/servers/${server_id}`)
      await this.settle(server_id)
    }
    await this.stop()
    rmSync(this.dataDir, { recursive: true, force: true })
  }
}

/** Makes a folder passable, because under root each machine's QEMU runs as its own user. */
function passable(folder: string): string {
  chmodSync(folder, 0o711)
  return folder
}

export function isPortOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Polls until the condition holds. */
export async function until(what: string, ms: number, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + ms
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`waited ${ms / 1000} s for: ${what}`)
    await sleep(50)
  }
}
