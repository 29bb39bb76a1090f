import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { untilIn } from '../../cli/units.ts'
import { keys } from '../harness/terminal.ts'
import { expectSession, loggedIn } from './harness/berth.ts'
import { screenOf } from './harness/screen.ts'

const ED25519 =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGI73rMsMSVJ9YTh4RDAPb3zpKRtnVwK9/dm2gTrryGw ann@laptop\n'
const ECDSA =
  'ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBO0oQu3GgJQ6fqYAxenxazDDcMXlAn69h+lecMczssqehm9imQOBw7D+nzuvDXZZTIKwn+xVxr8rphGND0ALluY=\n'

/** Logs in, with two public keys in the home folder that the account does not have yet. */
async function withKeys(options: Parameters<typeof loggedIn>[0] = {}) {
  const t = await loggedIn(options)
  writeFileSync(path.join(t.home, 'laptop.pub'), ED25519)
  writeFileSync(path.join(t.home, 'desk.pub'), ECDSA)
  t.env.HOME = t.home
  return t
}

test('create uses the only SSH key, reports if it can’t, and warns of a duplicate name', async () => {
  await expectSession(await withKeys(), 'server-create-keys', [
    'server create web-1 --template micro --preset nano',
    'ssh-key add laptop --file ~/laptop.pub -o name',
    'server create web-1 --template micro --preset nano',
    'server show web-1',
    'server create web-2 --template micro --preset nano --no-ssh-key',
    'ssh-key add desk --file ~/desk.pub -o name',
    'server create web-3 --template micro --preset nano',
    'server create web-4 --template micro --preset nano --ssh-key desk',
    'server list --columns name',
  ])
})

test('create without enough capacity prints the largest server that fits', async () => {
  await expectSession(await withKeys({ simulator: { host: { diskGb: 60 } } }), 'server-create-full', [
    'server create web-1 --template micro --preset large --no-ssh-key',
    'server create web-1 --template micro --cpu 1 --ram-mb 512 --disk-gb 60 --no-ssh-key -o name',
    'server create web-2 --template micro --preset nano --no-ssh-key',
  ])
})

test('create on a terminal asks which of several SSH keys to use; all of them are preselected', async () => {
  const t = await withKeys()
  for (const name of ['laptop', 'desk']) await t.run(`ssh-key add ${name} --file ~/${name}.pub`)
  const [newest, oldest] = (await t.berth.sshKeys.list()).items.map(({ ssh_key_id }) => ssh_key_id)
  const keysAfter = async (name: string, typed: string) => {
    const screen = screenOf(`server create ${name} --template micro --preset nano --no-wait`, t.env)
    await screen.answer('SSH keys to log in with (none: a password is generated):', typed)
    expect(await screen.ended()).toBe(0)
    return (await t.berth.servers.list({ name })).items[0]?.ssh_key_ids?.toSorted()
  }
  expect(await keysAfter('web-1', keys.enter)).toEqual([oldest, newest])
  expect(await keysAfter('web-2', keys.space + keys.enter)).toEqual([oldest])
})

test('create on a terminal asks for confirmation of a duplicate name', async () => {
  const t = await withKeys()
  await t.make('web-1')
  const answered = async (answer: string) => {
    const screen = screenOf(
      'server create web-1 --template micro --preset nano --no-ssh-key --no-wait',
      t.env,
    )
    await screen.answer('You have a server named web-1. Create another one? (y/N)', answer)
    return { code: await screen.ended(), text: screen.text() }
  }
  expect(await answered(keys.enter)).toMatchObject({
    code: 1,
    text: expect.stringContaining('Nothing was created.'),
  })
  expect((await t.berth.servers.list({ name: 'web-1' })).total).toBe(1)
  expect((await answered(`y${keys.enter}`)).code).toBe(0)
  expect((await t.berth.servers.list({ name: 'web-1' })).total).toBe(2)
})

test('the time that the balance lasts is shown in hours, to the day, or to the month', () => {
  const now = new Date('2026-11-22T10:00:00Z')
  expect(untilIn(5, now)).toBe('for 5 h')
  expect(untilIn(240, now)).toBe('until 2026-12-02')
  expect(untilIn(24_330, now)).toBe('until 2029-09')
})
