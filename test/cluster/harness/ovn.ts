import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { IncusClient } from '../../../api/drivers/incus/client.ts'

const run = promisify(execFile)
/** The default socket of Open vSwitch, which Incus uses before another can be configured. */
const USUAL = '/run/openvswitch/db.sock'
const SHARE = '/usr/share'
/** The uplink of the cluster's OVN networks, with this machine behind it. */
export const UPLINK = 'uplink'
export const OUTSIDE = '198.51.100.1'

/**
 * For tests: OVN with one host for all members, in a folder and on a bridge of its own. Its switch is a process rather
 * than the kernel, so it needs no module.
 */
export class Ovn {
  readonly #folder: string
  readonly #bridge: string
  readonly #out: string

  /** @param folder a new folder with a short path, because the paths of sockets are limited */
  constructor(folder: string) {
    this.#folder = folder
    const own = path.basename(path.dirname(folder)).slice(-6)
    this.#bridge = `in-${own}`
    this.#out = `out-${own}`
  }

  async start(): Promise<void> {
    mkdirSync(this.#folder)
    for (const [name, schema] of [
      ['db', 'openvswitch/vswitch'],
      ['nb', 'ovn/ovn-nb'],
      ['sb', 'ovn/ovn-sb'],
    ] as const) {
      await this.#run('ovsdb-tool', ['create', this.#file(`${name}.db`), `${SHARE}/${schema}.ovsschema`])
      await this.#daemon('ovsdb-server', name, [
        `--remote=punix:${this.#file(`${name}.sock`)}`,
        this.#file(`${name}.db`),
      ])
    }
    const settings = {
      'external_ids:system-id': this.#bridge,
      'external_ids:ovn-bridge': this.#bridge,
      'external_ids:ovn-bridge-datapath-type': 'netdev',
      'external_ids:ovn-remote': this.#socket('sb'),
      'external_ids:ovn-encap-type': 'geneve',
      'external_ids:ovn-encap-ip': '127.0.0.1',
      // Guests offload checksums to their cards, so the switch has to compute them.
      'other_config:userspace-tso-enable': 'true',
    }
    const pairs = Object.entries(settings).map(([key, value]) => `${key}="${value}"`)
    const first = [`--db=${this.#socket('db')}`, '--no-wait']
    await this.#run('ovs-vsctl', [...first, 'init', '--', 'set', 'open_vswitch', '.', ...pairs])
    await this.#daemon('ovs-vswitchd', 'switch', [this.#socket('db')])
    const out = ['add-br', this.#out, '--', 'set', 'bridge', this.#out, 'datapath_type=netdev']
    await this.#run('ovs-vsctl', [`--db=${this.#socket('db')}`, ...out])
    await run('ip', ['address', 'add', `${OUTSIDE}/24`, 'dev', this.#out])
    await run('ip', ['link', 'set', this.#out, 'up'])
    const databases = [`--ovnnb-db=${this.#socket('nb')}`, `--ovnsb-db=${this.#socket('sb')}`]
    await this.#daemon('ovn-northd', 'northd', databases)
    await this.#daemon('ovn-controller', 'host', [this.#socket('db')])
  }

  /** Connects a cluster and each of its members to this OVN. */
  async join(client: IncusClient, members: readonly string[]): Promise<void> {
    const isUsual = existsSync(USUAL)
    if (!isUsual) {
      mkdirSync(path.dirname(USUAL), { recursive: true })
      symlinkSync(this.#file('db.sock'), USUAL)
    }
    try {
      const config = {
        'network.ovn.northbound_connection': this.#socket('nb'),
        'network.ovn.integration_bridge': this.#bridge,
      }
      await client.call('PATCH', '/1.0', { body: { config } })
      for (const member of members) {
        const own = { 'network.ovs.connection': this.#socket('db') }
        const at = members.length > 1 ? `?target=${member}` : ''
        await client.call('PATCH', `/1.0${at}`, { body: { config: own } })
        const body = { name: UPLINK, type: 'physical', config: { parent: this.#out } }
        if (at !== '') await client.call('POST', `/1.0/networks${at}`, { body })
      }
      const ranges = OUTSIDE.replace(/1$/, '10-') + OUTSIDE.replace(/1$/, '250')
      const uplink = { 'ipv4.gateway': `${OUTSIDE}/24`, 'ipv4.ovn.ranges': ranges }
      const parent = members.length > 1 ? {} : { parent: this.#out }
      const body = { name: UPLINK, type: 'physical', config: { ...uplink, ...parent } }
      await client.call('POST', '/1.0/networks', { body })
    } finally {
      if (!isUsual) rmSync(path.dirname(USUAL), { recursive: true })
    }
  }

  /** Lists the logical switches of its networks. */
  async networks(): Promise<string[]> {
    const { stdout } = await this.#run('ovn-nbctl', [`--db=${this.#socket('nb')}`, 'ls-list'])
    return [...stdout.matchAll(/\((.*)\)/g)].map(([, name = '']) => name)
  }

  async dispose(): Promise<void> {
    if (!existsSync(this.#folder)) return
    const names = readdirSync(this.#folder).filter((name) => name.endsWith('.pid'))
    const pids = names.map((name) => Number(readFileSync(this.#file(name), 'utf8')))
    for (const pid of pids) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL')
    while (pids.some((pid) => existsSync(`/proc/${pid}`))) await sleep(10)
    // The switch's own cards outlive it.
    for (const card of [this.#bridge, this.#out, 'ovs-netdev'])
      await run('ip', ['link', 'delete', card]).catch(() => {})
  }

  /** Starts a daemon, which is restarted if it crashes. */
  #daemon(program: string, name: string, args: readonly string[]) {
    const own = [`--pidfile=${this.#file(`${name}.pid`)}`, `--log-file=${this.#file(`${name}.log`)}`]
    return this.#run(program, ['--detach', '--monitor', ...own, ...args])
  }

  #run(program: string, args: readonly string[]) {
    const env = { ...process.env, OVS_RUNDIR: this.#folder, OVN_RUNDIR: this.#folder }
    return run(program, args, { env })
  }

  #socket(name: string): string {
    return `unix:${this.#file(`${name}.sock`)}`
  }

  #file(name: string): string {
    return path.join(this.#folder, name)
  }
}
