import { RANGE4, RANGE6, RESOLVER } from '../../addresses.ts'
import { SSH_PORT } from '../../driver.ts'
import { PRIVATE_RULES } from './private.ts'
import { HELD, PUBLIC_SETS, ZONED } from './public.ts'

/** The uplink's card in the namespace, and the addresses of its two ends. */
export const UPLINK = 'up0'

/** Returns the name of a guest's card, by the number of its machine. */
export const cardOf = (number: number): string => `g${number}`

/**
 * Destinations closed to all guests: this host, its networks and its operator's, clouds' metadata services, and
 * addresses that stand for one of these. The sets host4 and host6 hold the host's public addresses.
 */
const CLOSED4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  // 168.63.129.16 is Azure's; other clouds' metadata addresses are in private ranges.
  ...['168.63.129.16', '192.0.0.0/24', '192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/3'],
]
/** ::/8 holds the loopback; with f000::/4, it covers all addresses that are private or stand for IPv4. */
const CLOSED6 = ['::/8', '100::/64', '2002::/16', 'f000::/4']

/**
 * The most connections that a machine may have open in each direction, and their rate, so that none fills the shared
 * table.
 */
export const MOST_CONNECTIONS = 8_000
export const NEW_CONNECTIONS = 'rate over 500/second burst 2000 packets'

const CHAINS = [
  'zoned',
  'held',
  'early',
  'pieces',
  'nat_in',
  'nat_local',
  'nat_out',
  'as_host',
  'input',
  'output',
  'guard',
  'errors',
  'egress',
  'bounded',
  'firewall',
  'firewall_in',
  'probe',
  'arrival',
]
const COUNTERS = ['count_sent', 'count_heard', 'count_got']

const SETS = `
add table inet berth
table inet berth {
  map ports    { type inet_proto . inet_service : ipv4_addr . inet_service; }
  map resolver { type ipv4_addr : ipv4_addr; }
  map rx       { type ifname : counter; }
  map tx       { type ifname : counter; }
  map opened   { type ifname : counter; }
  map mails    { type ifname : counter; }
  map slow_rx  { type ifname : limit; }
  map slow_tx  { type ifname : limit; }
  map classes  { type ifname : classid; }
  map fw_in    { type ifname : verdict; }
  map fw_out   { type ifname : verdict; }
  set probed   { type ifname; }
  set cut      { type ifname; }
  set smtp     { type ifname; }
  set own      { type ifname . ipv4_addr; }
  set own6     { type ipv6_addr . ipv6_addr; flags interval; }
  set macs     { type ifname . ether_addr; }
  set host4    { type ipv4_addr; }
  set host6    { type ipv6_addr; }
  set open4    { type ipv4_addr; }
  set conns    { type ifname; size 65535; flags dynamic; }
  set fresh    { type ifname; size 65535; flags dynamic, timeout; timeout 1m; }
  set visits   { type ifname; size 65535; flags dynamic; }
  set arrived  { type ifname; size 65535; flags dynamic, timeout; timeout 1m; }
  set broken   { type ifname; size 65535; flags dynamic, timeout; timeout 1m; }
  set knocks   { type ifname; size 65535; flags dynamic, timeout; timeout 2m; }
  set pings    { type ifname; size 65535; flags dynamic, timeout; timeout 1m; }
${PUBLIC_SETS}${[...CHAINS, ...COUNTERS].map((name) => `  chain ${name} {}`).join('\n')}
}
${[...CHAINS, ...COUNTERS].map((name) => `flush chain inet berth ${name}`).join('\n')}
${[...CHAINS, ...COUNTERS].map((name) => `delete chain inet berth ${name}`).join('\n')}
`

const EARLY = `
  # Before anything is remembered of it, pieces of packets too, which wait at -400 for the others: a guest sends from
  # its own addresses only. The routes say which those are, and the card's own set which MAC address.
  chain early {
    type filter hook prerouting priority -450; policy drop;
    iifname { "lo", "${UPLINK}" } accept
    iifname != "g*" drop
    iifname @cut drop
    iifname . ether saddr != @macs drop
    icmpv6 type { nd-router-advert, nd-redirect } drop
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } ip6 saddr { ::, fe80::/10, ${RANGE6} } update @knocks { iifname limit rate 12/minute burst 10 packets } accept
    ip6 saddr fe80::/10 drop
    ip daddr 127.0.0.0/8 drop
    fib saddr . iif oif missing drop
    ip frag-off & 0x3fff != 0 goto pieces
    exthdr frag exists goto pieces
    accept
  }
  # All guests' pieces wait in one place: one that sends some without an end must not fill it.
  chain pieces {
    meta length > 1500 drop
    update @broken { iifname limit rate over 500/second burst 500 packets } drop
    accept
  }
`

const nat = (ports: string) => `
  chain nat_in {
    type nat hook prerouting priority dstnat; policy accept;
    iifname "g*" ip daddr ${RESOLVER} meta l4proto { tcp, udp } th dport 53 dnat ip to ip daddr map @resolver
    dnat ip to ip daddr map @public_in4
    dnat ip6 prefix to ip6 daddr map @public_in6
    iifname "g*" ip daddr @open4 dnat ip to meta l4proto . th dport map @ports
    iifname "${UPLINK}" fib daddr type local dnat ip to meta l4proto . th dport map @ports
  }
  # What pasta brings from the loopback of this host comes from a socket in here.
  chain nat_local {
    type nat hook output priority -100; policy accept;
    fib daddr type local dnat ip to meta l4proto . th dport map @ports
  }
  chain nat_out {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "g*" ip saddr 127.0.0.0/8 masquerade
    # The resolver may be in a network of the operator's, who knows the host alone.
    oifname "${UPLINK}" ct status dnat goto as_host
    snat ip to ip saddr map @public_out4
    snat ip6 prefix to ip6 saddr map @public_out6
    # A guest that calls itself from outside: it would take no packet that comes from its own address.
    oifname . ip saddr @own masquerade
    oifname "${UPLINK}" goto as_host
  }
  chain as_host {
    ip saddr ${RANGE4} meta l4proto { tcp, udp } masquerade to :${ports} random
    ip saddr ${RANGE4} meta l4proto icmp masquerade
    ip6 saddr ${RANGE6} meta l4proto { tcp, udp } masquerade to :${ports} random
    ip6 saddr ${RANGE6} meta l4proto ipv6-icmp masquerade
    # Tunnels have no ports by which guests behind one address could be told apart, or traced.
    ip saddr ${RANGE4} drop
    ip6 saddr ${RANGE6} drop
  }
`

const FILTERS = `
  chain input {
    type filter hook input priority filter; policy drop;
    iifname "lo" accept
    # A segment without any flag, as Debian 12's pasta sends them, would be answered by the end of the connection.
    ct state invalid drop
    ct direction reply accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
    iifname "${UPLINK}" meta l4proto tcp reject with tcp reset
    iifname "${UPLINK}" meta l4proto udp reject
    meta l4proto { icmp, ipv6-icmp } update @pings { iifname limit rate 20/second burst 40 packets } accept
  }
  # Only pasta connects to published ports from in here: a guest that took its QEMU over is in here too.
  chain output {
    type filter hook output priority filter; policy drop;
    oifname "lo" accept
    ct direction reply accept
    ct state related accept
    ct status dnat accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
    reject with icmpx admin-prohibited
  }
  # Which ways there are at all.
  chain guard {
    type filter hook forward priority filter - 10; policy drop;
    # Neighbour and multicast discovery is not tracked, so it would leave with the address that a guest chose.
    ct state { invalid, untracked } drop
    tcp flags syn tcp option maxseg size set rt mtu
    oifname @cut drop
    jump held
    iifname "g*" ct state related jump errors
    iifname "g*" oifname "${UPLINK}" ip6 saddr != @open6 reject with icmpv6 no-route
    iifname "g*" oifname "${UPLINK}" accept
    oifname "g*" ct status dnat accept
    oifname "g*" ct direction reply accept
    oifname "g*" ct state related accept
  }
  # An ICMP error is about a connection, and counts as part of it: only the guest that has that connection may send one.
  chain errors {
    ct direction original iifname . ct original ip saddr @own return
    ct direction reply iifname . ct reply ip saddr @own return
    ct direction original ip6 saddr . ct original ip6 saddr @own6 return
    ct direction reply ip6 saddr . ct reply ip6 saddr @own6 return
    drop
  }
  # What leaves a guest. A decision is made for each packet, so that a change holds at once.
  chain egress {
    type filter hook forward priority filter; policy accept;
    iifname != "g*" accept
    ct direction reply accept
    # Mail servers take connections at this port only, and so does spam; those of other guests, too.
    meta l4proto tcp ct original proto-dst 25 iifname != @smtp counter name iifname map @mails
    meta l4proto tcp ct original proto-dst 25 iifname != @smtp reject with tcp reset
    ct status dnat goto bounded
    ip daddr { ${CLOSED4.join(', ')} } reject with icmpx admin-prohibited
    ip daddr @host4 reject with icmpx admin-prohibited
    ip6 daddr { ${CLOSED6.join(', ')} } reject with icmpx admin-prohibited
    ip6 daddr @host6 reject with icmpx admin-prohibited
    goto bounded
  }
  chain bounded {
    ct state new counter name iifname map @opened
    ct state new update @fresh { iifname limit ${NEW_CONNECTIONS} } drop
    ct state new add @conns { iifname ct count over ${MOST_CONNECTIONS} } drop
  }
  # What customers' firewalls let through, below all that holds for everybody: of each packet, in both directions.
  chain firewall {
    type filter hook forward priority filter + 1; policy accept;
    ct state related accept
    iifname @probed jump probe
    ct direction original iifname vmap @fw_out
    ct direction reply iifname vmap @fw_in
    ct direction reply oifname vmap @fw_out
  }
  # What comes to a guest: once it is clear what it will see it come from, also from a socket in here.
  chain firewall_in {
    type filter hook postrouting priority srcnat + 5; policy accept;
    ct state related accept
    oifname @probed jump probe
    ct direction original oifname vmap @fw_in
  }
  # The service asks guests that boot whether they answer.
  chain probe {
    meta l4proto tcp ct reply proto-src ${SSH_PORT} ct original ip saddr { 127.0.0.0/8, 169.254.0.0/16 } accept
    meta l4proto tcp ct reply proto-src ${SSH_PORT} ct original ip saddr @host4 accept
  }
  # What begins elsewhere, also in a socket in here: before it is remembered.
  chain arrival {
    type filter hook postrouting priority filter; policy accept;
    oifname != "g*" accept
    ct state new update @arrived { oifname limit ${NEW_CONNECTIONS} } drop
    ct state new add @visits { oifname ct count over ${MOST_CONNECTIONS} } drop
  }
  chain count_sent {
    type filter hook forward priority filter + 10; policy accept;
    limit name iifname map @slow_tx drop
    counter name iifname map @tx
    meta priority set iifname map @classes
  }
  chain count_heard {
    type filter hook input priority filter + 10; policy accept;
    ip6 saddr fe80::/10 return
    limit name iifname map @slow_tx drop
    counter name iifname map @tx
  }
  chain count_got {
    type filter hook postrouting priority srcnat + 10; policy accept;
    ip6 saddr { ::, fe80::/10 } return
    limit name oifname map @slow_rx drop
    counter name oifname map @rx
  }
`

const ARP = `
# A guest may ask who its gateway is, in its own name. All else is not heard: an entry of the neighbour table is made
# for each sender, and that table is one for the whole host, all namespaces together.
add table arp berth
table arp berth {
  set askers { type ifname . ether_addr . ipv4_addr; }
  chain input {}
}
flush chain arp berth input
delete chain arp berth input
table arp berth {
  chain input {
    type filter hook input priority filter; policy drop;
    iifname "${UPLINK}" accept
    arp operation request iifname . arp saddr ether . arp saddr ip @askers accept
    arp operation request arp saddr ip 0.0.0.0 accept
  }
}
`

/**
 * Returns the namespace's rules, loaded in one transaction at each start: missing objects are created, chains are
 * replaced, and the contents of sets, maps and counters stay. Machines come and go as elements only.
 * @param ports of the uplink: traffic of guests comes from these ports of the host, which no service uses
 */
export const rules = (ports: string): string =>
  `${SETS}table inet berth {${ZONED}${HELD}${EARLY}${nat(ports)}${FILTERS}}${ARP}${PRIVATE_RULES}`

/**
 * Turns off the kernel module br_netfilter's settings, from the moment that anything loads it: bridged packets would
 * pass the rules for routed ones, which know nothing of them. Prints what it turned off.
 */
export const BRIDGES_APART = `
for file in /proc/sys/net/bridge/bridge-nf-call-*; do
  [ ! -e $file ] || [ "$(cat $file)" = 0 ] || { echo 0 > $file; echo $file; }
done
`

/** The namespace's kernel settings. New cards inherit those of \`default\`. */
export const SETTINGS = `
cd /proc/sys/net
echo 1 > ipv4/ip_forward
echo 1 > ipv6/conf/all/forwarding
for place in all default; do
  echo 1 > ipv4/conf/$place/arp_ignore
  echo 0 > ipv4/conf/$place/send_redirects
  echo 0 > ipv4/conf/$place/accept_redirects
  echo 0 > ipv4/conf/$place/accept_source_route
  echo 0 > ipv4/conf/$place/rp_filter
  echo 0 > ipv6/conf/$place/accept_ra
  echo 0 > ipv6/conf/$place/accept_redirects
done
echo 1 > ipv4/conf/default/route_localnet
# Pieces of packets: how many bytes of them may wait, and for how many seconds.
for file in ipv4/ipfrag_high_thresh netfilter/nf_conntrack_frag6_high_thresh; do
  [ ! -e $file ] || echo 67108864 > $file
done
for file in ipv4/ipfrag_time netfilter/nf_conntrack_frag6_timeout; do [ ! -e $file ] || echo 2 > $file; done
for file in bridge/bridge-nf-call-*; do [ ! -e $file ] || echo 0 > $file; done
ip link set lo up
ip addr replace ${RESOLVER}/32 dev lo
ip route replace unreachable ${RANGE4}
ip -6 route replace unreachable ${RANGE6}
`
