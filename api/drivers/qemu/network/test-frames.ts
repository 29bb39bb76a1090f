import { addressesOf } from '../../addresses.ts'
import type { PrivateCard } from '../../driver.ts'
import type { Agent } from './test-world.ts'

// Frames that a guest's kernel would not send, as hexadecimal digits. Each carries its name, MARK-name, for watchers.

const hex = (bytes: readonly number[]) => Buffer.from(bytes).toString('hex')
const mac = (text: string) => text.replaceAll(':', '')
const ip4 = (text: string) => hex(text.split('.').map(Number))
const u16 = (value: number) => hex([value >> 8, value & 255])

function ip6(text: string): string {
  const [head = '', tail = ''] = text.split('::')
  const words = (part: string) => part.split(':').filter(Boolean)
  const zeros = 8 - words(head).length - words(tail).length
  const all = [...words(head), ...Array.from({ length: zeros }, () => '0'), ...words(tail)]
  return all.map((word) => word.padStart(4, '0')).join('')
}

function checksum(digits: string): string {
  let sum = 0
  for (const [word] of digits.padEnd(Math.ceil(digits.length / 4) * 4, '0').matchAll(/.{4}/g))
    sum += Number.parseInt(word, 16)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16)
  return u16(~sum & 0xffff)
}

const length = (digits: string) => digits.length / 2

function udp(source: string, target: string, name: string, [from, to]: number[] = [1111, 9]): string {
  const payload = Buffer.from(`MARK-${name};`).toString('hex')
  const head = (sum: string) => u16(from ?? 0) + u16(to ?? 0) + u16(8 + length(payload)) + sum
  const pseudo = `${source}${target}0011${u16(8 + length(payload))}`
  return head(checksum(pseudo + head('0000') + payload)) + payload
}

function over4(
  source: string,
  target: string,
  name: string,
  { options = '', ports = [1111, 9] } = {},
): string {
  const [from, to] = [ip4(source), ip4(target)]
  const body = udp(from, to, name, ports)
  const head = (sum: string) =>
    `4${(5 + length(options) / 4).toString(16)}00${u16(20 + length(options + body))}000000004011${sum}${from}${to}${options}`
  return `0800${head(checksum(head('0000')))}${body}`
}

/** Returns packets of protocols that have no ports, by the protocols' names; `ping` is an echo request. */
export function portlessFrames(gateway: string, card: string): Map<string, string> {
  const [from, to] = [ip4(addressesOf(1).ipv4.address), ip4('192.0.2.80')]
  const marked = (name: string) => Buffer.from(`MARK-${name};`).toString('hex')
  const echo = (sum: string) => `0800${sum}00010001${marked('ping')}`
  const packet = (name: string, number: number, body: string): [string, string] => {
    const head = (sum: string) => `4500${u16(20 + length(body))}0000000040${hex([number])}${sum}${from}${to}`
    return [name, `${mac(gateway)}${mac(card)}0800${head(checksum(head('0000')))}${body}`]
  }
  // The others begin with a plain header of GRE.
  const tunnels = Object.entries({ ipip: 4, gre: 47, esp: 50 })
  return new Map([
    packet('ping', 1, echo(checksum(echo('0000')))),
    ...tunnels.map(([name, number]) => packet(name, number, `00000800${marked(name)}`)),
  ])
}

function over6(source: string, target: string, name: string, { ports = [1111, 9] } = {}): string {
  const [from, to] = [ip6(source), ip6(target)]
  const body = udp(from, to, name, ports)
  return `86dd60000000${u16(length(body))}1140${from}${to}${body}`
}

/** A neighbour discovery message of this type, from and to these addresses, with the card's address as an option. */
function icmp6(type: number, source: string, target: string, message: string, name: string): string {
  const [from, to] = [ip6(source), ip6(target)]
  const padding = Buffer.from(`MARK-${name};`.padEnd(30)).toString('hex')
  // An unknown option carries the name.
  const rest = `${message}0101525400666666fe04${padding}`
  const head = (sum: string) => `${hex([type])}00${sum}`
  const pseudo = `${from}${to}${u16(0)}${u16(length(head('0000') + rest))}0000003a`
  const body = head(checksum(pseudo + head('0000') + rest)) + rest
  return `86dd60000000${u16(length(body))}3aff${from}${to}${body}`
}

/** An ICMP error that says of a datagram, which is its frame's contents, that it is too long. */
function tooLong(source: string, target: string, datagram: string): string {
  const inner = datagram.slice(4)
  if (!source.includes(':')) {
    const [from, to] = [ip4(source), ip4(target)]
    const message = (sum: string) => `0304${sum}00000258${inner}`
    const body = message(checksum(message('0000')))
    const head = (sum: string) => `4500${u16(20 + length(body))}000000004001${sum}${from}${to}`
    return `0800${head(checksum(head('0000')))}${body}`
  }
  const [from, to] = [ip6(source), ip6(target)]
  const message = (sum: string) => `0200${sum}00000500${inner}`
  const pseudo = `${from}${to}${u16(0)}${u16(length(inner) + 8)}0000003a`
  const body = message(checksum(pseudo + message('0000')))
  return `86dd60000000${u16(length(body))}3aff${from}${to}${body}`
}

/** A connection from the view of its guest and, with the guest's public address, of its peer. */
interface Seen {
  inside: [address: string, port: number]
  outside: string
  far: [address: string, port: number]
}

/**
 * Returns ICMP errors of one guest about connections: two for each, to the connection's far end and to its guest.
 * @param by the address of the guest that sends them
 */
export function errorFrames(gateway: string, card: string, by: string, about: Record<string, Seen>) {
  const over = by.includes(':') ? over6 : over4
  const frames = Object.entries(about).flatMap(([name, { inside, outside, far }]) => {
    const sent = over(outside, far[0], `${name}-home`, { ports: [inside[1], far[1]] })
    const got = over(far[0], inside[0], `${name}-afar`, { ports: [far[1], inside[1]] })
    return [
      [`${name}-home`, mac(gateway) + mac(card) + tooLong(by, outside, sent)],
      [`${name}-afar`, mac(gateway) + mac(card) + tooLong(by, far[0], got)],
    ] as const
  })
  return new Map<string, string>(frames)
}

function arp(operation: 1 | 2, sender: string, asked: string, name: string): string {
  const marked = Buffer.from(`MARK-${name};`).toString('hex')
  return `080600010800060400${hex([operation])}${mac('52:54:00:66:66:66')}${ip4(sender)}000000000000${ip4(asked)}${marked}`
}

interface Place {
  ipv4: { address: string; gateway: string }
  ipv6: { address: string }
  mac: string
}

const FIRST_TWO: readonly [Place, Place] = [
  { ...addressesOf(1), mac: '52:54:00:00:00:01' },
  { ...addressesOf(2), mac: '52:54:00:00:00:02' },
]
/** A MAC address that nobody has. */
const FORGED_MAC = '52:54:00:66:66:66'

/**
 * Returns forged frames by their names; `honest` is not forged. @param gateway the address of the other end's card
 */
export function frames(gateway: string, card: string, [me, other] = FIRST_TWO): Map<string, string> {
  const far = '192.0.2.80'
  const [own, all] = [mac(gateway) + mac(card), `ffffffffffff${mac(card)}`]
  const forged = (name: string, source: string, target = far) => [name, own + over4(source, target, name)]
  return new Map<string, string>([
    ['honest', own + over4(me.ipv4.address, far, 'honest')],
    ...([
      forged('neighbours-ipv4', other.ipv4.address),
      forged('any-ipv4', '8.8.8.8'),
      forged('another-public-ipv4', '203.0.113.9'),
      forged('the-hosts-ipv4', '198.51.100.2'),
      forged('loopback-as-source', '127.0.0.1'),
      forged('gateway-as-source', me.ipv4.gateway),
      forged('resolver-as-source', '10.64.0.1'),
      forged('nobody-as-source', '0.0.0.0'),
      forged('to-loopback', me.ipv4.address, '127.0.0.1'),
      forged('to-metadata', me.ipv4.address, '169.254.169.254'),
      forged('to-neighbour', me.ipv4.address, other.ipv4.address),
      forged('to-multicast', me.ipv4.address, '224.0.0.251'),
      [
        'source-route',
        own + over4(me.ipv4.address, '10.9.0.1', 'source-route', { options: `8307040a090001` + '00' }),
      ],
      ['broadcast', all + over4(me.ipv4.address, '255.255.255.255', 'broadcast')],
      ['dhcp-offer', all + over4(me.ipv4.gateway, '255.255.255.255', 'dhcp-offer', { ports: [67, 68] })],
      ['vlan', `${own}81000005${over4(me.ipv4.address, far, 'vlan')}`],
      ['neighbours-ipv6', own + over6(other.ipv6.address, '2001:db8:80::80', 'neighbours-ipv6')],
      ['any-ipv6', own + over6('2001:db8:5:9::2', '2001:db8:80::80', 'any-ipv6')],
      ['link-local', own + over6('fe80::99', '2001:db8:80::80', 'link-local')],
      ['to-neighbour-ipv6', own + over6(me.ipv6.address, other.ipv6.address, 'to-neighbour-ipv6')],
      [
        'advertised-router',
        `333300000001${mac(card)}${icmp6(134, 'fe80::bad', 'ff02::1', '40c00708000000000000000000', 'advertised-router')}`,
      ],
      [
        'advertised-neighbour',
        own + icmp6(136, 'fe80::99', 'fe80::1', `20000000${ip6(other.ipv6.address)}`, 'advertised-neighbour'),
      ],
      [
        'advertised-hop',
        own + icmp6(136, 'fe80::2', 'fe80::1', `20000000${ip6('fe80::2')}`, 'advertised-hop'),
      ],
      [
        'redirect',
        own +
          icmp6(
            137,
            'fe80::99',
            'fe80::1',
            `00000000${ip6('fe80::99')}${ip6(other.ipv6.address)}`,
            'redirect',
          ),
      ],
      ['arp-answer', own + arp(2, other.ipv4.address, me.ipv4.gateway, 'arp-answer')],
      ['arp-gateway', all + arp(2, me.ipv4.gateway, me.ipv4.gateway, 'arp-gateway')],
      ['arp-question', all + arp(1, other.ipv4.address, me.ipv4.gateway, 'arp-question')],
      ...fromOtherCards(gateway, [me, other]),
    ] as [string, string][]),
  ])
}

/** Messages for the gateway and neighbours, sent to somebody else instead. */
function discoveryAfar(start: string, [me, other]: readonly [Place, Place]): [string, string][] {
  return [133, 135, 136, 143].flatMap((type) =>
    [me, other].map(({ ipv6: { address } }, index): [string, string] => {
      const name = `discovery-${type}-${index}-afar`
      return [name, start + icmp6(type, address, '2001:db8:80::80', `00000000${ip6(address)}`, name)]
    }),
  )
}

/** More frames: most come from a MAC address that is not the card's. */
function fromOtherCards(gateway: string, [me, other]: readonly [Place, Place]): [string, string][] {
  const [far, far6] = ['192.0.2.80', '2001:db8:80::80']
  const by = (from: string) => mac(gateway) + mac(from)
  return [
    // The frame has the machine's own IP address, but another card's MAC.
    ['any-mac', by(FORGED_MAC) + over4(me.ipv4.address, far, 'any-mac')],
    ['neighbours-mac', by(other.mac) + over4(me.ipv4.address, far, 'neighbours-mac')],
    ['gateways-mac', by(gateway) + over4(me.ipv4.address, far, 'gateways-mac')],
    ['any-mac-ipv6', by(FORGED_MAC) + over6(me.ipv6.address, far6, 'any-mac-ipv6')],
    [
      'any-mac-broadcast',
      `ffffffffffff${mac(FORGED_MAC)}${over4(me.ipv4.address, '255.255.255.255', 'any-mac-broadcast')}`,
    ],
    [
      'any-mac-arp',
      `ffffffffffff${mac(FORGED_MAC)}${arp(1, me.ipv4.address, me.ipv4.gateway, 'any-mac-arp')}`,
    ],
    // The frame has neither its own MAC nor its own IP address.
    ['any-mac-and-ipv4', by(FORGED_MAC) + over4('8.8.8.8', far, 'any-mac-and-ipv4')],
    ['all-of-the-neighbours', by(other.mac) + over4(other.ipv4.address, far, 'all-of-the-neighbours')],
    ...discoveryAfar(by(me.mac), [me, other]),
    ['neighbours-mac-and-ipv6', by(other.mac) + over6(other.ipv6.address, far6, 'neighbours-mac-and-ipv6')],
  ]
}

/** Returns frames that a machine might send by its card in a private network; it may send those called `honest-…`. */
export function privateFrames(me: PrivateCard, other: PrivateCard, bridge: string): Map<string, string> {
  const way = (from: string, to = other.mac) => mac(to) + mac(from)
  const everybody = 'ff:ff:ff:ff:ff:ff'
  const from = (name: string, source: string, by = me.mac): [string, string] => [
    name,
    way(by) + over4(source, other.address, name),
  ]
  const plain = (name: string) => over4(me.address, other.address, name)
  const question = (name: string, sender: string, ip: string) =>
    arp(1, ip, other.address, name).replace(mac('52:54:00:66:66:66'), mac(sender))
  const marked = (name: string) => Buffer.from(`MARK-${name};`).toString('hex')
  return new Map<string, string>([
    ['honest-unicast', way(me.mac) + plain('honest-unicast')],
    ['honest-broadcast', way(me.mac, everybody) + over4(me.address, '255.255.255.255', 'honest-broadcast')],
    ['honest-arp', way(me.mac, everybody) + question('honest-arp', me.mac, me.address)],
    from('neighbours-mac', me.address, other.mac),
    from('any-mac', me.address, '52:54:00:66:66:66'),
    from('neighbours-ipv4', other.address),
    from('gateway-ipv4', '10.1.0.1'),
    from('any-ipv4', '8.8.8.8'),
    from('nobody-ipv4', '0.0.0.0'),
    ['arp-answer', way(me.mac) + arp(2, other.address, me.address, 'arp-answer')],
    ['arp-neighbour', way(me.mac, everybody) + question('arp-neighbour', me.mac, other.address)],
    ['arp-other-mac', way(me.mac, everybody) + question('arp-other-mac', other.mac, me.address)],
    ['arp-forged-frame', way(other.mac, everybody) + question('arp-forged-frame', me.mac, me.address)],
    ['vlan', `${way(me.mac)}81000005${plain('vlan')}`],
    ['vlan-zero', `${way(me.mac)}81000000${plain('vlan-zero')}`],
    ['provider-vlan', `${way(me.mac)}88a80005${plain('provider-vlan')}`],
    ['ipv6', way(me.mac) + over6('fe80::1', 'fe80::2', 'ipv6')],
    [
      'advertised-router',
      `333300000001${mac(me.mac)}${icmp6(134, 'fe80::bad', 'ff02::1', '40c00708000000000000000000', 'advertised-router')}`,
    ],
    [
      'dhcp-offer',
      way(me.mac, everybody) + over4(me.address, '255.255.255.255', 'dhcp-offer', { ports: [67, 68] }),
    ],
    ['spanning-tree', `0180c2000000${mac(me.mac)}0026424203${marked('spanning-tree')}`],
    ['lldp', `0180c200000e${mac(me.mac)}88cc${marked('lldp')}`],
    ['to-resolver', way(me.mac, bridge) + over4(me.address, '10.64.0.1', 'to-resolver')],
    ['to-internet', way(me.mac, bridge) + over4(me.address, '192.0.2.80', 'to-internet')],
    ['unknown-target', way(me.mac, '52:54:00:77:77:77') + plain('unknown-target')],
  ])
}

/** Reports that it is ready, and then the names of the frames it saw, on a signal or after a while. */
export const WATCH = `socket(S, 17, 3, 0x0300) or die; my %m; $SIG{ALRM} = sub { print join(",", keys %m); exit };
alarm 600; $| = 1; print "ready\n"; while (1) { recv(S, my $b, 2000, 0); $m{$1} = 1 while $b =~ /MARK-([a-z0-9-]+);/g }`
export const SEND = `socket(S, 17, 3, 0x0300) or die; my $i = shift @ARGV;
my $to = pack("SniSCCa8", 17, 3, $i, 1, 0, 6, ""); for (1 .. 10) {
for (@ARGV) { send(S, pack("H*", $_), 0, $to) or die $! } select(undef, undef, undef, 0.1) }`

const PIECES = `socket(S, 2, 3, 255) or die; my ($from, $to, $size, $count) = @ARGV; my ($a, $b) = map { pack "C4", split /\\./ } $from, $to;
for my $i (1 .. $count) { send(S, pack("CCnnnCCna4a4", 0x45, 0, 20 + $size, $i, 0x2000, 64, 17, 0, $a, $b) . "x" x $size, 0,
pack("Sna4x8", 2, 0, $b)) or select(undef, undef, undef, 0.001) }`
const LONG = `socket(S, 2, 2, 17) or die; $SIG{ALRM} = sub { print "silence"; exit }; alarm 2;
send(S, "x" x 3000, 0, pack("Sna4x8", 2, $ARGV[1], pack "C4", split /\\./, $ARGV[0])) or die $!; recv(S, my $b, 99, 0); print $b`

/** Sends first fragments of packets whose others never come. */
export function sendPieces(
  guest: Agent,
  [from, to]: [string, string],
  size: number,
  count: number,
): Promise<string> {
  return guest.tell({ do: 'run', command: ['perl', '-e', PIECES, from, to, `${size}`, `${count}`] })
}

/** Returns the reply to a fragmented datagram. */
export function askLong(guest: Agent, host: string, port: number): Promise<string> {
  return guest.tell({ do: 'run', command: ['perl', '-e', LONG, host, `${port}`] })
}

/** Sends frames from a guest, and returns the names of those that any of the watchers saw. */
export async function seen(
  guest: Agent,
  all: Map<string, string>,
  watchers: readonly Agent[],
  card = 'eth0',
): Promise<string[]> {
  await Promise.all(watchers.map((agent) => agent.tell({ do: 'watch', program: WATCH })))
  const index = /^\d+/.exec(await guest.run(`ip -o link show ${card}`))?.[0] ?? ''
  const said = await guest.tell<string>({ do: 'run', command: ['perl', '-e', SEND, index, ...all.values()] })
  if (said !== '') throw new Error(said)
  // The last frames may still be on their way.
  await guest.run('sleep 1')
  const names = await Promise.all(watchers.map((agent) => agent.tell<string>({ do: 'watched' })))
  return [...new Set(names.flatMap((text) => text.split(',')))].filter(Boolean)
}
