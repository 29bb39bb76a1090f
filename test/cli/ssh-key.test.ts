import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { privateKey } from '../api/harness/keys.ts'
import { expectSession, loggedIn } from './harness/berth.ts'

const ED25519 =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGI73rMsMSVJ9YTh4RDAPb3zpKRtnVwK9/dm2gTrryGw ann@laptop\n'
const ECDSA =
  'ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBO0oQu3GgJQ6fqYAxenxazDDcMXlAn69h+lecMczssqehm9imQOBw7D+nzuvDXZZTIKwn+xVxr8rphGND0ALluY=\n'

const main = path.resolve(import.meta.dirname, '../../cli/main.ts')

/** Logs in, with these files in ~/.ssh. */
async function withKeys(files: Record<string, string>) {
  const t = await loggedIn()
  const folder = path.join(t.home, '.ssh')
  mkdirSync(folder)
  for (const [name, content] of Object.entries(files)) writeFileSync(path.join(folder, name), content)
  return t
}

test('a key is added from the file that ssh would use, listed, shown and deleted by its name', async () => {
  const t = await withKeys({ 'id_rsa.pub': ECDSA, 'id_ed25519.pub': ED25519, 'work.pub': ECDSA })
  await expectSession(t, 'ssh-key', [
    'ssh-key add',
    'ssh-key add again',
    'ssh-key add --file ~/.ssh/work.pub',
    'ssh-key add work --file=~/.ssh/work.pub -o json',
    'ssh-key list',
    'ssh-key list -o json',
    'ssh-key list -o name',
    'ssh-key list work',
    'ssh-key show ann@laptop',
    'ssh-key show ann@laptop -o json',
    'ssh-key show desk',
    'ssh-key update ann@laptop --name desk',
    'ssh-key update desk --name ann@laptop -o json',
    'ssh-key update desk --name x',
    'ssh-key update ann@laptop',
    "ssh-key add 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 ann@laptop'",
    'ssh-key add --file ~/.ssh/none.pub',
    'ssh-key add --file ~/.ssh',
    'ssh-key add mine ~/.ssh/work.pub',
    'ssh-key delete work',
    'ssh-key delete work',
    'ssh-key delete',
  ])
})

test('a key can be piped in', async () => {
  const t = await loggedIn()
  const added = await t.run('ssh-key add --file - -o name', ED25519)
  expect(added).toEqual({ code: 0, out: 'ann@laptop\n', err: '' })
})

test('a piped key is added instead of the one in ~/.ssh, and piped input that is not a key is refused', async () => {
  const t = await withKeys({ 'id_ed25519.pub': ED25519 })
  expect(await t.run('ssh-key add desk -o name', 'hello\n')).toMatchObject({ code: 2, out: '' })
  const added = await t.run('ssh-key add desk -o name', ECDSA)
  expect(added).toEqual({ code: 0, out: 'desk\n', err: 'Adding the key from stdin.\n' })
  expect(await t.berth.sshKeys.list()).toMatchObject({ items: [{ key_type: 'ecdsa-sha2-nistp256' }] })
})

test('an empty or silent stdin is ignored, so that scripts use the key in ~/.ssh', async () => {
  const t = await withKeys({ 'id_ed25519.pub': ED25519 })
  const { BERTH_URL, BERTH_TOKEN, HOME } = t.env
  for (const stdin of ['ignore', 'pipe'] as const) {
    const child = spawn(process.execPath, [main, 'ssh-key', 'add', stdin, '-o', 'name'], {
      env: { BERTH_URL, BERTH_TOKEN, HOME },
      stdio: [stdin, 'pipe', 'ignore'],
    })
    expect(child.stdout && (await text(child.stdout))).toBe(`${stdin}\n`)
    for await (const { ssh_key_id } of t.berth.sshKeys.listAll()) await t.berth.sshKeys.delete(ssh_key_id)
  }
})

test('without a public key, the error says how to create one', async () => {
  expect(await (await loggedIn()).run('ssh-key add')).toEqual({
    code: 3,
    out: '',
    err: 'Error: No public key found in ~/.ssh.\nCreate one with: ssh-keygen -t ed25519 — or pass one with --file.\n',
  })
})

test('a private key, or a text that is not a key, is never sent', async () => {
  const t = await withKeys({ id_ed25519: `${ED25519}${privateKey()}`, notes: 'hello\n' })
  const [isPrivate, isNone] = [
    'Error: This is a private key. It was not sent, and should never leave this machine.\n' +
      'Pass the public key instead, such as --file ~/.ssh/id_ed25519.pub\n',
    'Error: This is not a valid public key. It was not sent.\n' +
      'A public key is one line that starts with its type, as in ~/.ssh/id_ed25519.pub.\n',
  ]
  // Nothing listens there, so a request would fail with another error.
  t.env.BERTH_URL = 'http://127.0.0.1:1'
  expect(await t.run('ssh-key add mine --file ~/.ssh/id_ed25519')).toEqual({
    code: 2,
    out: '',
    err: isPrivate,
  })
  expect((await t.run('ssh-key add mine --file -', privateKey())).err).toBe(isPrivate)
  expect((await t.run('ssh-key add mine --file -', 'PuTTY-User-Key-File-3: ssh-ed25519')).err).toBe(isPrivate)
  expect((await t.run('ssh-key add mine --file -', '---- BEGIN SSH2 PUBLIC KEY ----\n')).err).toContain(
    'ssh-keygen -i',
  )
  expect((await t.run('ssh-key add mine --file ~/.ssh/notes')).err).toBe(isNone)
  expect((await t.run('ssh-key add mine --file -', '')).err).toBe(isNone)
  expect((await t.run('ssh-key add mine --file -', `${ED25519}${ECDSA}`)).err).toBe(isNone)
})
