import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { frames, SEND, WATCH } from '../api/drivers/qemu/network/test-frames.ts'
import { Service } from '../test/qemu/harness/service.ts'

/** The part of bench/guests.ts that the service's user plays: the service, two guests, and what one of them tries. */

const ECHO_PORT = 7777
const FAR = '192.0.2.80'
const HOST = '198.51.100.2'
const WATCH_SECONDS = 19

const ECHO = `socket(S, 2, 2, 17); bind(S, pack("Sna4x8", 2, ${ECHO_PORT}, "")) or die; while (my $f = recv(S, my $b, 2000, 0)) { send(S, "x", 0, $f) }`
const ASK = `my ($kind, $family, $to) = @ARGV; my $b; socket(S, $family, $kind, 0); $SIG{ALRM} = sub { print "silence"; exit }; alarm 3;
connect(S, pack("H*", $to)) or (print "refused"), exit; $kind == 1 or send(S, "hello", 0) or (print "refused"), exit;
print defined recv(S, $b, 99, 0) && length $b ? "ANSWERED" : "refused"`
const FLOOD = `my ($count) = @ARGV; socket(S, 2, 2, 17); for my $host (80, 81) { for my $port (1 .. $count / 2) {
send(S, "x", 0, pack("SnC4x8", 2, $port, 192, 0, 2, $host)) or select(undef, undef, undef, 0.001) } }`
const STORM = `socket(S, 17, 3, 0) or die; my $i = shift; my $to = pack("SniSCCa8", 17, 3, $i, 1, 0, 6, "\\xff" x 6);
my $end = time + 15; while (time < $end) { for my $f (@ARGV) { send(S, pack("H*", $f), 0, $to) for 1 .. 500 } }`
const COMPUTING = 'my $end = time + 15; while (time < $end) { $i++ for 1 .. 1000 }'

let asked = 0
/** Sends an order to a process outside of the guest. */
async function outside<T>(who: 'internet' | 'host', order: object): Promise<T> {
  const id = ++asked
  process.send?.({ id, who, order })
  for (;;) {
    const [reply] = await once(process, 'message')
    if (reply.id !== id) continue
    if (reply.error) throw new Error(reply.error)
    return reply.value
  }
}
process.setMaxListeners(50)

interface Guest {
  id: string
  /** Runs a program of perl as the guest's root. */
  perl: (program: string, ...args: string[]) => Promise<string>
  shell: (command: string, input?: Buffer) => Promise<string>
  network: Record<'ipv4' | 'ipv6', { address: string; gateway: string }> & { mac: string }
  echoPort: number
}

const service = new Service()
const logins = new Set<ChildProcess>()

/** A guest that has booted, with the perl of this machine in it. */
async function guest(id: string, identity: string): Promise<Guest> {
  await service.settle(id)
  const { ssh, network } = (await service.call('GET', `/servers/${id}/details`)).body
  const [program, ...args] = ssh.command.split(' ')
  const trust = ['-F', 'none', '-i', identity, '-o', 'StrictHostKeyChecking=no', '-o', 'BatchMode=yes', '-q']
  const known = ['-o', 'UserKnownHostsFile=/dev/null', '-o', 'ServerAliveInterval=0']
  const shell: Guest['shell'] = async (command, input) => {
    const child = spawn(program, [...trust, ...known, ...args, command], { timeout: 900_000 })
    logins.add(child)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text))
    child.stdin.end(input)
    await once(child, 'close')
    return said.trim()
  }
  const libraries = execFileSync('ldd', ['/usr/bin/perl'], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
  const { stdout } = await promisify(execFile)(
    'tar',
    [
      'czhf',
      '-',
      '-C',
      '/',
      '--transform',
      's#.*/##',
      ...libraries.map((file) => file.slice(1)),
      'usr/bin/perl',
    ],
    { encoding: 'buffer', maxBuffer: 2 ** 26 },
  )
  await shell('mkdir p && tar xz -C p', stdout)
  const perl: Guest['perl'] = (script, ...more) =>
    shell(
      `sudo $PWD/p/ld-linux-x86-64.so.2 --library-path $PWD/p $PWD/p/perl - ${more.join(' ')}`,
      Buffer.from(script),
    )
  const version = await perl('print $]')
  if (!version.startsWith('5.')) throw new Error(`no perl in the guest: ${version}`)
  const echo = network.published_ports.find(({ port }: { port: number }) => port === ECHO_PORT)
  return { id, shell, perl, network, echoPort: echo.host_port }
}

async function attack(hostile: Guest, neighbour: Guest): Promise<void> {
  await reaches(hostile, neighbour)
  await forges(hostile, neighbour)
  void neighbour.perl(ECHO)
  await sleep(3_000)
  const card = await hostile.shell('cat /sys/class/net/eth0/ifindex')
  const all = frames('ff:ff:ff:ff:ff:ff', hostile.network.mac, [hostile.network, neighbour.network])
  const storm = ['broadcast', 'arp-question', 'advertised-router'].map((name) => all.get(name) ?? '')
  const attacks: [string, () => Promise<unknown>][] = [
    ['computing', () => hostile.perl(COMPUTING)],
    ['27,000 connections (conntrack)', () => hostile.perl(FLOOD, '27000')],
    ['100,000 connections', () => hostile.perl(FLOOD, '100000')],
    ['a storm of broadcasts and multicasts', () => hostile.perl(STORM, card, ...storm)],
  ]
  for (const [name, work] of attacks) {
    const quiet = [await echoes(neighbour, 300), await requests(100)] as const
    const loud: [number[], number[]] = [[], []]
    let isOver = false
    const end = work().finally(() => {
      isOver = true
    })
    while (!isOver) {
      loud[0].push(...(await echoes(neighbour, 50)))
      loud[1].push(...(await requests(20)))
    }
    await end
    for (const [at, who] of (['neighbour', 'API'] as const).entries())
      console.log(
        `   during ${name}, ${who}: ${[0.5, 0.99].map((share) => `p${share * 100} ${ms(loud[at], share)} ms (quiet ${ms(quiet[at], share)})`).join(', ')}`,
      )
  }
  const own = await hostile.perl(ASK, '1', '2', place4(FAR, 80))
  console.log(
    `   afterwards: the neighbour to the internet ${await neighbour.perl(ASK, '1', '2', place4(FAR, 80))}, the hostile one ${own}`,
  )
}

/** Lists the targets that answer a guest by TCP and UDP. */
async function reaches(hostile: Guest, neighbour: Guest): Promise<void> {
  const { ipv4, ipv6 } = neighbour.network
  // From here on, packets for the guest itself go to the gateway.
  const { address, gateway } = hostile.network.ipv4
  const stray = [
    'ip addr del 127.0.0.1/8 dev lo',
    'ip route del local 127.0.0.0/8 dev lo table local',
    'for c in all eth0; do echo 1 > /proc/sys/net/ipv4/conf/$c/route_localnet; echo 0 > /proc/sys/net/ipv4/conf/$c/rp_filter; done',
    `ip route add 127.0.0.0/8 via ${gateway} dev eth0 src ${address}`,
  ]
  await hostile.shell(`sudo sh -c '${stray.join('; ')}'`)
  const targets: [string, string, number][] = [
    ['the internet (should answer)', FAR, 80],
    ['the host by its address', HOST, 8080],
    ['the host in a private network', '10.9.0.2', 8080],
    ['the host by IPv6', '2001:db8:ffff::2', 8080],
    ["the host's end of the way out", '169.254.64.1', 8080],
    ['its gateway', gateway, 8080],
    ['127.0.0.1 by the gateway', '127.0.0.1', 8080],
    ['a private network of the operator', '10.9.0.1', 80],
    ['the resolver by its own address', '10.255.255.53', 53],
    ['metadata', '169.254.169.254', 80],
    ["the neighbour's address", ipv4.address, 22],
    ["the neighbour's address, IPv6", ipv6.address, 22],
    ['port 25 of the internet', FAR, 25],
  ]
  for (const [name, target, port] of targets) {
    const [family, to] = target.includes(':') ? ['10', place6(target, port)] : ['2', place4(target, port)]
    const answers = await Promise.all(['1', '2'].map((kind) => hostile.perl(ASK, kind, family, to)))
    console.log(`   ${name}: TCP ${answers[0]}, UDP ${answers[1]}`)
  }
}

/** Lists the forged frames that are seen anywhere. */
async function forges(hostile: Guest, neighbour: Guest): Promise<void> {
  await hostile.perl(ASK, '1', '2', place4(FAR, 80))
  const card = await hostile.shell('cat /sys/class/net/eth0/ifindex')
  const gateway = /(?:[0-9a-f]{2}:){5}[0-9a-f]{2}/.exec(
    await hostile.shell(`grep "${hostile.network.ipv4.gateway} " /proc/net/arp`),
  )?.[0]
  if (!gateway) throw new Error('the gateway has no MAC address')
  const all = frames(gateway, hostile.network.mac, [hostile.network, neighbour.network])
  const known = () => neighboursOf(hostile.id)
  const before = await known()
  const watch = WATCH.replace(/alarm \d+/, `alarm ${WATCH_SECONDS}`)
  const places = ['internet', 'host'] as const
  const watching = [
    ...places.map((who) =>
      outside<string>(who, { do: 'run', command: ['perl', '-e', watch], timeout: 60_000 }),
    ),
    neighbour.perl(watch),
  ]
  await sleep(4_000)
  const said = await hostile.perl(SEND, card, ...all.values())
  if (said) console.log(`   ${said}`)
  const seen = await Promise.all(watching)
  for (const [at, where] of ['the internet', 'the host', 'the neighbour'].entries())
    console.log(
      `   of ${all.size} frames ${where} saw: ${
        seen[at]
          ?.replace(/^ready\s*/, '')
          .split(',')
          .sort()
          .join(', ') || 'none'
      }`,
    )
  const after = await known()
  if (before !== null)
    console.log(
      `   the gateway learned: ${after?.filter((one) => !before.includes(one)).join('; ') || 'nothing'}`,
    )
}

/** The MAC address by which a machine's gateway knows each guest; null if its network is not the service's. */
async function neighboursOf(serverId: string): Promise<string[] | null> {
  const [line = ''] = service.processesOf(serverId).filter((one) => one.includes(' qemu-system'))
  const pid = line.split(' ')[0] ?? ''
  const command = ['nsenter', `--net=/proc/${pid}/ns/net`, '--', 'ip', '-o', 'neigh']
  const said = await outside<string>('host', { do: 'run', command })
  if (!said.includes('PERMANENT')) return null
  return said
    .trim()
    .split('\n')
    .map((entry) => entry.replace(/ (REACHABLE|STALE|DELAY|PROBE|FAILED|PERMANENT).*/, ''))
}

const hex4 = (address: string) => Buffer.from(address.split('.').map(Number)).toString('hex')
const u16 = (value: number) => value.toString(16).padStart(4, '0')
const place4 = (address: string, port: number) => `0200${u16(port)}${hex4(address)}${'00'.repeat(8)}`
function place6(address: string, port: number): string {
  const [head = '', tail = ''] = address.split('::').map((part) =>
    part
      .split(':')
      .filter(Boolean)
      .map((group) => group.padStart(4, '0'))
      .join(''),
  )
  const digits = address.includes('::') ? head + '0'.repeat(32 - head.length - tail.length) + tail : head
  return `0a00${u16(port)}00000000${digits}00000000`
}

function echoes({ echoPort }: Guest, count: number): Promise<number[]> {
  return outside('internet', { do: 'echo', host: HOST, port: echoPort, count })
}

async function requests(count: number): Promise<number[]> {
  const took: number[] = []
  for (let at = 0; at < count; at++) {
    const before = performance.now()
    await service.call('GET', '/servers')
    took.push(performance.now() - before)
  }
  return took
}

function ms(values: readonly number[] | undefined, share: number): string {
  return (values?.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN).toFixed(1)
}

await service.prepare()
await service.start([
  '--accel',
  'tcg',
  '--ssh-ports',
  '25000-25019',
  '--guest-host',
  '0.0.0.0',
  '--public-name',
  HOST,
])
try {
  console.log(`\n== Features: ${(await service.call('GET', '/zones')).body[0].features.join(', ')}`)
  for (const [, warning] of service.output.matchAll(/"(Guests [^"]*|Machines [^"]*)"/g))
    console.log(`   ${warning}`)
  const { identity, sshKeyId } = await service.addKey()
  const ordered = []
  for (const name of ['hostile', 'neighbour'])
    ordered.push(
      await service.create({
        name,
        ssh_key_ids: [sshKeyId],
        published_ports: [{ protocol: 'udp', port: ECHO_PORT }],
      }),
    )
  const [hostile, neighbour] = await Promise.all(ordered.map(({ server_id }) => guest(server_id, identity)))
  if (hostile && neighbour) await attack(hostile, neighbour)
} finally {
  // A guest that is gone does not close its connections.
  for (const login of logins) login.kill()
  await service.dispose()
  process.disconnect()
}
