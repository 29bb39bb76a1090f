import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'

const dir = mkdtempSync(path.join(os.tmpdir(), 'berth-seed-'))
afterAll(() => rmSync(dir, { recursive: true }))
const program = path.join(import.meta.dirname, 'micro/guest/etc/berth/fields.awk')

/** Runs micro's reader on a file and returns its lines as [path, value], with values as the guest decodes them. */
function read(text: string): [string, string][] {
  const file = path.join(dir, 'user-data')
  writeFileSync(file, text)
  const out = execFileSync('awk', ['-f', program, file], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  })
  const lines = out.split('\n').slice(0, -1)
  return lines.map((line) => {
    const at = line.indexOf('=')
    const value = line
      .slice(at + 1)
      .replace(/\\([\\nt])/g, (_, c) => ({ n: '\n', t: '\t' })[c as string] ?? '\\')
    return [line.slice('user-data:'.length, at), value]
  })
}

test('the vendor data is read back unchanged, whatever an SSH key’s comment contains', () => {
  const comment = fc.string({
    unit: fc.constantFrom(...'abnt \\"\'`$(){}[],:;#=|&<>*?~!%é€\t'),
    maxLength: 30,
  })
  fc.assert(
    fc.property(fc.array(comment, { maxLength: 3 }), fc.boolean(), (comments, lock) => {
      const keys = comments.map((c) => `ssh-ed25519 AAAA ${c}`)
      const config = {
        hostname: 'web-1',
        users: [{ name: 'berth', lock_passwd: lock, ssh_authorized_keys: keys }],
        ssh_pwauth: !lock,
      }
      expect(read(`#cloud-config\n${JSON.stringify(config)}\n`)).toEqual([
        ['hostname', 'web-1'],
        ['users.0.name', 'berth'],
        ['users.0.lock_passwd', String(lock)],
        ...keys.map((key, i) => [`users.0.ssh_authorized_keys.${i}`, key]),
        ['ssh_pwauth', String(!lock)],
      ])
    }),
    { numRuns: 40 },
  )
})

test('no value can pass for another line or path', () => {
  const text = JSON.stringify({
    'a=b\nusers.0.name': 'x\nuser-data:users.0.name=root',
    'c:d': '\u0001\u001b[2J\u007f!',
  })
  expect(read(text)).toEqual([
    ['a_b_users_0_name', 'x\nuser-data:users.0.name=root'],
    ['c_d', '[2J!'],
  ])
})

test('the usual YAML of a cloud-config is parsed', () => {
  const text = `#cloud-config
# comment: yes
hostname: "web: 1"  # a name
ssh_pwauth: yes
users:
  - default
  - name: second
    sudo: ['ALL=(ALL) NOPASSWD:ALL', "b"]
    ssh_authorized_keys:
      - ssh-ed25519 AAAA it's "me"
write_files:
- path: /etc/x
  content: |
    one: $(two)
      three \\n

    four
- {path: /y, content: 'it''s'}
runcmd:
  - echo "a b" 'c'
  - [sh, -c, "echo x"]
last: >-
  folded
  text
`
  expect(read(text)).toEqual([
    ['hostname', 'web: 1'],
    ['ssh_pwauth', 'yes'],
    ['users.0', 'default'],
    ['users.1.name', 'second'],
    ['users.1.sudo.0', 'ALL=(ALL) NOPASSWD:ALL'],
    ['users.1.sudo.1', 'b'],
    ['users.1.ssh_authorized_keys.0', `ssh-ed25519 AAAA it's "me"`],
    ['write_files.0.path', '/etc/x'],
    ['write_files.0.content', 'one: $(two)\n  three \\n\n\nfour\n'],
    ['write_files.1.path', '/y'],
    ['write_files.1.content', "it's"],
    ['runcmd.0', `echo "a b" 'c'`],
    ['runcmd.1.0', 'sh'],
    ['runcmd.1.1', '-c'],
    ['runcmd.1.2', 'echo x'],
    ['last', 'folded text'],
  ])
})

test('invalid input neither hangs the reader nor does harm', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]":,-|> \n\\#ab'), maxLength: 80 }), (text) => {
      for (const [name] of [...read(text), ...read(`{${text}`)]) expect(name).toMatch(/^[\w.-]*$/)
    }),
    { numRuns: 40 },
  )
})
