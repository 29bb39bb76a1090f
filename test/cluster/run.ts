// `npm run test:cluster`: installs Incus where it is missing, or LXD where there is none, and runs all that needs a cluster.
// Arguments go to vitest: npm run test:cluster -- -t evacuate
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runWhereUsersCanEnter } from '../harness/passable.ts'
import { runSuite } from '../harness/suite.ts'

const root = path.resolve(import.meta.dirname, '../..')
runWhereUsersCanEnter(root)
const PATH = [
  path.join(root, 'node_modules/.bin'),
  process.env.PATH,
  ...['/usr/sbin', '/sbin', '/usr/libexec/incus'],
].join(path.delimiter)
const env = { ...process.env, PATH, DEBIAN_FRONTEND: 'noninteractive' }

/** Programs that the tests need, and the packages of Debian and Ubuntu that contain them. */
const programs = {
  busybox: 'busybox-static',
  dropbear: 'dropbear-bin',
  'mkfs.btrfs': 'btrfs-progs',
  nft: 'nftables',
  ip: 'iproute2',
  ssh: 'openssh-client',
  openssl: 'openssl',
  'ovs-vswitchd': 'openvswitch-switch',
  'ovn-northd': 'ovn-central',
  'ovn-controller': 'ovn-host',
  pdns_server: 'pdns-server pdns-backend-sqlite3',
  named: 'bind9',
  nsupdate: 'bind9-dnsutils',
}
/** The packages of the engine: Incus if it is available, or else LXD. */
const INCUS = { incus: 'incus-client', incusd: 'incus-base' }
const LXD = { lxd: 'lxd' }

function has(program: string): boolean {
  return PATH.split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const lacking = (needed: Readonly<Record<string, string>>) =>
  Object.entries(needed).flatMap(([program, names]) => (has(program) ? [] : names.split(' ')))

/** The machine's release, such as bookworm. */
function codename(): string {
  return /^VERSION_CODENAME=(\S+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? ''
}

/**
 * The entries of the machine's own sources that have its release, with the backports of it: wherever its packages come
 * from, these do too.
 */
function withBackports(release: string): string {
  const folder = '/etc/apt/sources.list.d'
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8')
  const names = readdirSync(folder)
  const stanzas = names
    .filter((name) => name.endsWith('.sources'))
    .flatMap((name) =>
      read(name)
        .replaceAll(/^#.*\n/gm, '')
        .split(/\n\s*\n/),
    )
    .filter((stanza) => new RegExp(`^Suites:.*\\b${release}(\\s|$)`, 'm').test(stanza))
    .map((stanza) => stanza.replace(/^Suites:.*$/m, `Suites: ${release} ${release}-backports`).trim())
  const single = (text: string) =>
    text.split('\n').filter((line) => new RegExp(`^deb .*\\s${release}\\s`).test(line))
  const lines = [
    ...(existsSync('/etc/apt/sources.list') ? single(readFileSync('/etc/apt/sources.list', 'utf8')) : []),
    ...names.filter((name) => name.endsWith('.list')).flatMap((name) => single(read(name))),
  ].map((line) => {
    const [, options = '', uri, , components = 'main'] =
      /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    const signed = /signed-by=(\S+)/.exec(options)?.[1]
    return [
      'Types: deb',
      `URIs: ${uri}`,
      `Suites: ${release} ${release}-backports`,
      `Components: ${components}`,
      ...(signed ? [`Signed-By: ${signed}`] : []),
    ].join('\n')
  })
  return `${[...stanzas, ...lines].join('\n\n')}\n`
}

/** Installs packages with separate package lists, so that the machine's sources stay unchanged. */
function install(): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-apt-'))
  try {
    for (const name of ['parts', 'lists/partial']) mkdirSync(path.join(folder, name), { recursive: true })
    const release = codename()
    writeFileSync(path.join(folder, 'parts/backports.sources'), withBackports(release))
    const options = [
      ...['-q', '-y', '-o', 'DPkg::Lock::Timeout=600', '-o', 'Dir::Etc::SourceList=/dev/null'],
      ...['-o', `Dir::Etc::SourceParts=${folder}/parts`, '-o', `Dir::State::Lists=${folder}/lists`],
      ...['-o', 'APT::Sandbox::User=root'],
    ]
    const apt = (...args: string[]) => spawnSync('apt-get', [...options, ...args], { env, encoding: 'utf8' })
    apt('update')
    const incus = lacking(INCUS)
    const engines = hasEngine()
      ? [[]]
      : // A newer release has Incus without backports.
        [incus.map((name) => `${name}/${release}-backports`), incus, lacking(LXD)]
    for (const engine of engines) {
      const packages = [...engine, ...lacking(programs)]
      console.log(`Installing ${packages.join(', ')}. This happens once.`)
      const { status, stderr } = apt('install', '--no-install-recommends', ...packages)
      if (status === 0) return
      console.log(stderr.split('\n').slice(-5).join('\n'))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function hasEngine(): boolean {
  return lacking(INCUS).length === 0 || lacking(LXD).length === 0
}

/** Explains why the tests can't run here, as a sentence; null if they can. */
function obstacle(): string | null {
  if (process.getuid?.() !== 0) return 'Incus runs as root only.'
  const missing = () => [...(hasEngine() ? [] : lacking(INCUS)), ...lacking(programs)]
  if (missing().length > 0 && has('apt-get')) install()
  const left = missing()
  return left.length === 0 ? null : `Not installed: ${left.join(', ')}.`
}

const why = obstacle()
if (why !== null) {
  const isSkipped = process.env.BERTH_SKIP_CLUSTER === '1'
  console.log(`*** The tests on a cluster can't run here. ${why} ***`)
  if (!isSkipped) console.log('To do without them, set BERTH_SKIP_CLUSTER=1.')
  process.exit(isSkipped ? 0 : 1)
}
/** The rules that Incus writes for routed cards. It leaves some behind when a daemon is killed. */
const RULES = ['inet', 'incus']
const hasRules = () => spawnSync('nft', ['list', 'table', ...RULES], { env }).status === 0
const hadRules = hasRules()
const projects = ['--project=cluster', '--project=acceptance-cluster']
// Files run one after the other, because members on a busy machine would count as offline.
const options = ['--maxWorkers=1', ...projects, ...process.argv.slice(2)]
const isGreen = runSuite(root, options, { ...env, BERTH_TEST_CLUSTER: '1' })
// Rules that existed before belong to another Incus of this machine.
if (!hadRules && hasRules()) spawnSync('nft', ['delete', 'table', ...RULES], { env })
process.exit(isGreen ? 0 : 1)
