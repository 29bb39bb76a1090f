import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { addressesOf } from '../../addresses.ts'
import { PLAIN_NETWORK, type PublicPools } from '../../driver.ts'
import { type Card, cardLines } from './cards.ts'
import { placesOf } from './private.ts'

const run = promisify(execFile)
/** Returns the command prefix that runs a command as an ordinary user for whom /dev/net/tun has this mode. */
export function asUser(tunMode: 600 | 666): string[] {
  const tun = `mount -t tmpfs none /dev/net && mknod -m ${tunMode} /dev/net/tun c 10 200 && exec "$@"`
  const user = ['setpriv', '--reuid', String(USER), '--regid', String(USER), '--clear-groups']
  return ['unshare', '-m', 'sh', '-c', tun, 'sh', ...user]
}

const AGENT = join(import.meta.dirname, 'test-agent.ts')
const USER = 4242
const MOST_TRIES = 20

/** A test process in some namespace, see test-agent.ts. */
export class Agent {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  #count = 0

  constructor(prefix: readonly string[]) {
    const [program = '', ...args] = [...prefix, process.execPath, AGENT]
    this.#process = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#process.once('exit', () => {
      this.#isGone = true
      for (const { reject } of this.#waiting.values()) reject(new Error('The process has ended'))
    })
    // All three are pipes, as set above.
    const { stdout } = this.#process as { stdout: NodeJS.ReadableStream }
    createInterface({ input: stdout }).on('line', (line) => {
      const { id, value, error, message } = JSON.parse(line)
      const { resolve, reject } = this.#waiting.get(id) ?? {}
      this.#waiting.delete(id)
      if (error === undefined) resolve?.(value as never)
      else reject?.(Object.assign(new Error(message), { code: error }))
    })
  }

  #isGone = false

  tell<T = unknown>(order: { do: string; [more: string]: unknown }): Promise<T> {
    const id = ++this.#count
    if (this.#isGone) return Promise.reject(new Error('The process has ended'))
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#process.stdin?.write(`${JSON.stringify({ id, ...order })}\n`)
    })
  }

  run(command: string): Promise<string> {
    return this.tell({ do: 'run', command: ['sh', '-c', command] })
  }

  ask(
    protocol: 'tcp' | 'udp',
    host: string,
    port: number,
    more: { from?: number; isFirst?: boolean } = {},
  ): Promise<string> {
    return this.tell({ do: 'ask', protocol, host, port, ...more })
  }

  /**
   * Like ask, for a target that should answer: a busy machine may lose the first packets of a route, or need a while.
   */
  async reach(...question: Parameters<Agent['ask']>): Promise<string> {
    for (let tries = 1; ; tries++) {
      const answer = await this.ask(...question)
      if (answer !== 'silence' || tries === MOST_TRIES) return answer
    }
  }

  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.kill(signal)
    await ended
  }
}

/**
 * A host and the internet in namespaces of their own, so that nothing is seen of this machine and nothing leaves it.
 * The host is 198.51.100.2 and, in its operator's network, 10.9.0.2; the internet is 192.0.2.80 and 10.255.255.53.
 */
export class NetworkWorld {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'berth-network-'))
  /** A random part avoids the leftovers of a killed run whose process had the same pid. */
  readonly #name = `bt${process.pid}${randomBytes(2).toString('hex')}`
  readonly #as: 'root' | 'user'
  readonly #agents: Agent[] = []
  readonly #spaces: string[] = []
  readonly #children: ChildProcess[] = []
  readonly #members: number[] = []
  pools: PublicPools = { ipv4: ['203.0.113.0/24'], ipv6: ['2001:db8:5::/48'] }
  internet!: Agent
  host!: Agent
  /** The service process, whose guest networks are under test. */
  service!: Agent

  private constructor(as: 'root' | 'user') {
    this.#as = as
  }

  static async open(as: 'root' | 'user'): Promise<NetworkWorld> {
    const world = new NetworkWorld(as)
    chmodSync(world.dataDir, 0o711)
    if (as === 'user') chownSync(world.dataDir, USER, USER)
    const [net, host] = [await world.#space('net'), await world.#space('host')]
    const lines = [
      `ip -n ${net} link add w0 type veth peer name eth0 netns ${host}`,
      ...['198.51.100.1/24', '10.9.0.1/24', '2001:db8:ffff::1/64 nodad'].map(
        (a) => `ip -n ${net} addr add ${a} dev w0`,
      ),
      ...['192.0.2.80/32', '10.255.255.53/32', '169.254.169.254/32'].map(
        (a) => `ip -n ${net} addr add ${a} dev lo`,
      ),
      `ip -n ${net} addr add 2001:db8:80::80/128 dev lo nodad`,
      ...['198.51.100.2/24', '10.9.0.2/24', '2001:db8:ffff::2/64 nodad'].map(
        (a) => `ip -n ${host} addr add ${a} dev eth0`,
      ),
      `ip -n ${net} link set w0 up`,
      `ip -n ${net} route add 203.0.113.0/24 via 198.51.100.2`,
      `ip -n ${net} -6 route add 2001:db8:5::/48 via 2001:db8:ffff::2`,
      `ip -n ${host} link set eth0 up`,
      `ip -n ${host} route add default via 198.51.100.1`,
      `ip -n ${host} -6 route add default via 2001:db8:ffff::1`,
    ]
    for (const line of lines) await run('sh', ['-c', line])
    // Services start on a host whose card is up: the kernel needs up to a second to see a carrier.
    await run('sh', ['-c', `until ip -n ${host} link show eth0 | grep -q 'state UP'; do sleep 0.02; done`])
    world.internet = world.#agent(net)
    world.host = world.onHost()
    const addresses = ['192.0.2.80', '10.255.255.53', '10.9.0.1', '169.254.169.254', '2001:db8:80::80']
    for (const port of [25, 53, 80, 587]) await world.internet.tell({ do: 'serve', port, addresses })
    for (const port of [5353, 8080]) await world.host.tell({ do: 'serve', port })
    await world.startService()
    return world
  }

  onHost(): Agent {
    return this.#agent(`${this.#name}-host`)
  }

  /** The command prefix that runs a command on the host. */
  get onHostPrefix(): string[] {
    return ['nsenter', `--net=/run/netns/${this.#name}-host`, '--']
  }

  async startService(dataDir = this.dataDir, running: { pid: number; card: Card }[] = []): Promise<Agent> {
    const space = `${this.#name}-host`
    // If only root may open /dev/net/tun, a node that everybody may open stands in for it, as on other hosts.
    const as = this.#as === 'root' ? [] : asUser(666)
    const agent = new Agent(['nsenter', `--net=/run/netns/${space}`, '--', ...as])
    this.#agents.push(agent)
    const options = { dataDir, address: '0.0.0.0', ports: { first: 24_000, last: 24_019 } }
    await agent.tell({ do: 'open', options, running, pools: this.pools })
    this.service = agent
    return agent
  }

  card(number: number, more: Partial<Card['network']> = {}): Card {
    const ports = [
      { protocol: 'tcp' as const, hostPort: 24_000 + number, port: 80 },
      { protocol: 'udp' as const, hostPort: 24_000 + number, port: 80 },
    ]
    const network = { ...PLAIN_NETWORK, number, ports, ...more }
    return { serverId: `m${number}`, mac: `52:54:00:00:00:0${number}`, uid: 0, network }
  }

  /** The command prefix that runs a command in the guests' namespace, for root of this machine. */
  async inside(): Promise<string[]> {
    const entrance = await this.service.tell<string[]>({ do: 'entrance' })
    const target = entrance[entrance.indexOf('--target') + 1]
    return entrance.includes('--target') ? ['nsenter', `--net=/proc/${target}/ns/net`, '--'] : entrance
  }

  /** Ends the uplink of an ordinary user's service; those of other tests differ only in their namespace. */
  async killPasta(): Promise<void> {
    const entrance = await this.service.tell<string[]>({ do: 'entrance' })
    const target = entrance[entrance.indexOf('--target') + 1]
    await this.service.run(`for p in /proc/[0-9]*; do
      if tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q '^pasta .* ${target} $'; then
        kill -9 \${p#/proc/}; while [ -d $p ]; do :; done; fi; done`)
  }

  /** Removes what holds the guests' namespace besides its machines: its name, or the service's process. */
  async loseNamespace(): Promise<void> {
    const entrance = await this.service.tell<string[]>({ do: 'entrance' })
    const [, name = ''] = entrance.join(' ').split(/\/run\/netns\/(\S+)/)
    const holder = entrance[entrance.indexOf('--target') + 1] ?? ''
    const [program, ...args] = this.#as === 'root' ? ['ip', 'netns', 'delete', name] : ['kill', '-9', holder]
    await run(program ?? '', args)
  }

  /** Starts a process in the guests' namespace, like a QEMU. */
  async member(): Promise<number> {
    if (this.#as === 'user') {
      const entrance = await this.service.tell<string[]>({ do: 'entrance' })
      const pid = Number(await this.service.run(`${entrance.join(' ')} sleep 600 > /dev/null 2>&1 & echo $!`))
      this.#members.push(pid)
      return pid
    }
    const [program = '', ...args] = [...(await this.inside()), 'sleep', '600']
    const child = spawn(program, args, { stdio: 'ignore' })
    this.#children.push(child)
    return child.pid ?? 0
  }

  /** Creates a guest that is a namespace, at the end of its card. */
  async guest(number: number): Promise<Agent> {
    const card = this.card(number)
    await this.service.tell({ do: 'attach', card })
    const space = await this.#space(`g${number}`)
    const inside = await this.inside()
    const name = `g${number}`
    const lines = [
      `link delete ${name}`,
      `link add ${name} type veth peer name eth0 netns ${space}`,
      ...cardLines(card).filter((line) => !line.startsWith('tuntap')),
    ]
    await run('sh', ['-c', `${inside.join(' ')} ip -batch - <<'END'\n${lines.join('\n')}\nEND\n`])
    const { ipv4, ipv6 } = addressesOf(number)
    const own = [
      `link set eth0 address ${card.mac}`,
      'link set eth0 up',
      `addr add ${ipv4.address}/30 dev eth0`,
      `addr add ${ipv6.address}/64 dev eth0 nodad`,
      `route add default via ${ipv4.gateway}`,
      `route add default via ${ipv6.gateway} dev eth0`,
    ]
    await run('sh', ['-c', `ip -n ${space} -batch - <<'END'\n${own.join('\n')}\nEND\n`])
    const agent = this.#agent(space)
    for (const port of [80, 8080]) await agent.tell({ do: 'serve', port })
    return agent
  }

  /** Gives such a guest its cards in private networks; "c5" is the one in network 5. */
  async plug(card: Card): Promise<void> {
    await this.service.tell({ do: 'change', card })
    const inside = (await this.inside()).join(' ')
    const space = `${this.#name}-g${card.network.number}`
    for (const { name, network, mac, address, prefixLength } of placesOf(card)) {
      const own = `c${network}`
      const lines = [
        `link set ${own} address ${mac}`,
        `addr add ${address}/${prefixLength} dev ${own}`,
        `link set ${own} up`,
      ]
      await run('sh', [
        '-c',
        `${inside} ip link delete ${name} && ${inside} ip link add ${name} type veth peer name ${own} netns ${space} &&
        ip -n ${space} -batch - <<'END'\n${lines.join('\n')}\nEND\n`,
      ])
    }
    await this.service.tell({ do: 'look' })
  }

  async close(): Promise<void> {
    for (let number = 1; number < 8; number++)
      await this.service.tell({ do: 'detach', serverId: `m${number}` }).catch(() => {})
    await this.service.tell({ do: 'close' }).catch(() => {})
    for (const agent of this.#agents) await agent.end()
    for (const child of this.#children) child.kill()
    for (const pid of this.#members) process.kill(pid)
    for (const space of this.#spaces) await run('ip', ['netns', 'delete', space])
    rmSync(this.dataDir, { recursive: true, force: true })
  }

  #agent(space: string): Agent {
    const agent = new Agent(['nsenter', `--net=/run/netns/${space}`, '--'])
    this.#agents.push(agent)
    return agent
  }

  async #space(name: string): Promise<string> {
    const space = `${this.#name}-${name}`
    await run('ip', ['netns', 'add', space])
    await run('ip', ['-n', space, 'link', 'set', 'lo', 'up'])
    this.#spaces.push(space)
    return space
  }
}
