// These tests run the hcloud command of Debian's package hcloud-cli against /hcloud/v1.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test as always, expect, onTestFinished } from 'vitest'
import { uploaded } from '../api/harness/isos.ts'
import { ed25519 } from '../api/harness/keys.ts'
import { catalogWith } from '../harness/addresses.ts'
import { meanwhile } from '../sdk/harness/client.ts'
import { loggedIn } from './harness/berth.ts'

const isMissing = spawnSync('hcloud', ['version']).error !== undefined
if (isMissing) console.error('*** SKIPPED: the hcloud command, which is not installed. ***')
const test = always.skipIf(isMissing)

/** Commands of all groups; an exclamation mark expects a refusal, with the code after the arrow. */
const script = `
location list
location describe local-1
datacenter list
datacenter describe local-1-dc1
server-type list
server-type describe nano
iso list
iso describe installer
ssh-key create --name laptop --public-key-from-file KEY
ssh-key list
ssh-key describe laptop
ssh-key update laptop --name desktop
ssh-key add-label desktop a=b
network create --name inner --ip-range 10.1.0.0/24
network add-subnet inner --type cloud --network-zone local-1 --ip-range 10.1.0.0/24
! network add-route inner --destination 10.9.0.0/24 --gateway 10.1.0.2 -> unsupported_error
! network enable-protection inner delete -> unsupported_error
! network change-ip-range inner --ip-range 10.1.0.0/16 -> unsupported_error
network disable-protection inner delete
network update inner --name middle
network list
network describe middle
firewall create --name web --rules-file RULES
firewall add-rule web --direction in --protocol tcp --port 443 --source-ips 0.0.0.0/0
firewall delete-rule web --direction in --protocol tcp --port 443 --source-ips 0.0.0.0/0
firewall replace-rules web --rules-file RULES
firewall update web --name guard
firewall list
image list
server create --name web --type nano --image micro --ssh-key desktop --network middle --label env=prod
server list -l env=prod
server list -l env~in~(prod,test),!tier
! server list -l env~in~prod -> label_selector
server describe web
server ip web
! server create --name web --type nano --image micro -> uniqueness_error
! server create --name other --type huge --image micro -> No such server type: huge
firewall apply-to-resource guard --type server --server web
firewall apply-to-resource guard --type label_selector --label-selector env=prod
firewall describe guard
firewall remove-from-resource guard --type server --server web
firewall remove-from-resource guard --type label_selector --label-selector env=prod
volume create --name data --size 10 --server web
volume list
volume describe data
volume detach data
volume resize data --size 12
volume attach data --server web
volume update data --name files
! volume attach files --server web -> volume_already_attached
! volume delete files -> volume_already_attached
server detach-from-network web --network middle
server attach-to-network web --network middle --ip 10.1.0.9
! server change-alias-ips web --network middle --alias-ips 10.1.0.10 -> unsupported_error
! server attach-iso web debian -> ISO not found
server attach-iso web installer
server describe web
server detach-iso web
! server request-console web -> unsupported_error
server set-rdns web --hostname web.example.com
server reboot web
server reset web
server shutdown web
! server shutdown web -> invalid_input
server poweron web
! server change-type web micro -> server_not_stopped
server poweroff web
server change-type web micro
server poweron web
server reset-password web
server create-image web --type snapshot --description before
image list --type snapshot
server rebuild web --image micro
server enable-rescue web --ssh-key desktop
server disable-rescue web
server enable-backup web
server disable-backup web
server add-label web tier=front
server remove-label web tier
server update web --name shop
server enable-protection shop delete rebuild
! server delete shop -> protected
server disable-protection shop delete rebuild
floating-ip create --type ipv4 --home-location local-1
floating-ip list
primary-ip create --type ipv4 --name any --datacenter local-1-dc1
primary-ip list
server delete shop
volume delete files
firewall delete guard
network remove-subnet middle --ip-range 10.1.0.0/24
network delete middle
ssh-key delete desktop
! load-balancer list -> not_found
! placement-group list -> not_found
! certificate list -> not_found
`

const rules = [{ direction: 'in', protocol: 'tcp', port: '80', source_ips: ['0.0.0.0/0'] }]

test('96 commands of hcloud work, or report that a feature is not offered', async () => {
  const catalog = catalogWith('public_ipv4: [203.0.113.0/28]')
  const t = await loggedIn({ hasHcloud: true, catalog })
  await uploaded(t)
  const home = mkdtempSync(path.join(tmpdir(), 'berth-hcloud-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const files = { KEY: ed25519(), RULES: JSON.stringify(rules) }
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(home, name), text)
  const { err } = await t.run('token create tools --hcloud')
  const env = {
    ...process.env,
    HOME: home,
    ...Object.fromEntries([...err.matchAll(/export (\w+)=(\S+)/g)].map(pair)),
  }
  const results: string[] = []
  for (const line of script.trim().split('\n')) {
    const [, mark, command = '', code] = /^(! )?(.*?)(?: -> (.*))?$/.exec(line) ?? []
    const args = ['--poll-interval', '20ms', ...command.split(' ').map(spaced)]
    const run = new Promise<{ isRefused: boolean; shown: string }>((resolve) => {
      execFile('hcloud', args, { env, cwd: home }, (error, out, errors) =>
        resolve({ isRefused: error !== null, shown: out + errors }),
      )
    })
    const { isRefused, shown } = await meanwhile(t, run)
    if (isRefused !== (mark !== undefined) || !shown.includes(code ?? '')) results.push(`${line}\n${shown}`)
  }
  expect(results).toEqual([])
})

/** Spaces within arguments are written as tildes. */
const spaced = (word: string) => word.replaceAll('~', ' ')
const pair = ([, name = '', value = '']: RegExpExecArray): [string, string] => [name, value]
