// The second part of `npm run check:clients`: installs the clients of the hcloud API that Debian has, and runs them
// against Berth. Arguments go to vitest: npm run check:clients -- -t Packer
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { runWhereUsersCanEnter } from '../harness/passable.ts'
import { runSuite } from '../harness/suite.ts'

const root = path.resolve(import.meta.dirname, '../..')
runWhereUsersCanEnter(root)
const PATH = [path.join(root, 'node_modules/.bin'), process.env.PATH, '/usr/sbin', '/sbin'].join(
  path.delimiter,
)
const env = { ...process.env, PATH, DEBIAN_FRONTEND: 'noninteractive' }

/** Files that show that a package is there. */
const files = {
  '/usr/bin/hcloud': 'hcloud-cli',
  '/usr/bin/ansible-playbook': 'ansible',
  '/usr/bin/packer': 'packer',
  '/usr/bin/go': 'golang-go',
  '/usr/share/gocode/src/github.com/hetznercloud/hcloud-go': 'golang-github-hetznercloud-hcloud-go-dev',
  '/usr/share/gocode/src/github.com/prometheus/client_golang': 'golang-github-prometheus-client-golang-dev',
  '/usr/share/gocode/src/golang.org/x/net': 'golang-golang-x-net-dev',
  '/usr/lib/python3/dist-packages/hcloud': 'python3-hcloud',
}
const missing = () => Object.entries(files).flatMap(([file, name]) => (existsSync(file) ? [] : [name]))

if (missing().length > 0 && process.getuid?.() === 0) {
  console.log(`Installing ${missing().join(', ')} with apt-get. This happens once.`)
  // Another installation, such as that of the cluster's tests, may be under way.
  const options = ['-q', '-y', '-o', 'DPkg::Lock::Timeout=600']
  const apt = (...args: string[]) => spawnSync('apt-get', [...options, ...args], { env, encoding: 'utf8' })
  apt('update')
  console.log(
    apt('install', '--no-install-recommends', ...missing())
      .stderr.split('\n')
      .slice(-5)
      .join('\n'),
  )
}
if (missing().length > 0) {
  console.error(
    `These tests need root, and the packages ${missing().join(', ')} of Debian 12: install them with apt-get.`,
  )
  process.exit(1)
}
const isGreen = runSuite(root, ['--project=hcloud', ...process.argv.slice(2)], {
  ...env,
  BERTH_TEST_HCLOUD: '1',
})
process.exit(isGreen ? 0 : 1)
