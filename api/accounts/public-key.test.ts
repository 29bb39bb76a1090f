import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ecdsa, ed25519, line, pack, privateKey, rsa, securityKey } from '../../test/api/harness/keys.ts'
import { parsePublicKey } from './public-key.ts'

test('a key is read whatever its comment and the space around it', async () => {
  const bare = ed25519()
  for (const text of [
    bare,
    `${bare} ann@laptop`,
    `  ${bare}\n`,
    `${bare} a comment of words`,
    bare.replace(' ', '\t'),
  ])
    expect(await parsePublicKey(text)).toMatchObject({ type: 'ssh-ed25519', line: bare })
})

test('fingerprints are those of ssh-keygen', async () => {
  // The fingerprint that ssh-keygen -lf prints for this key.
  const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f'
  const fingerprint = 'SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA'
  expect(await parsePublicKey(key)).toMatchObject({ fingerprint })
})

const blobOf = (text: string) => Buffer.from(text.split(' ')[1] ?? '', 'base64')

test.each([
  ['ssh-ed25519', ed25519()],
  ['ecdsa-sha2-nistp256', ecdsa(256)],
  ['ssh-rsa', rsa(2048)],
  ['ssh-rsa', rsa(2014)],
  ['sk-ssh-ed25519@openssh.com', securityKey('ed25519')],
  ['sk-ecdsa-sha2-nistp256@openssh.com', securityKey('ecdsa')],
])('a key of type %s with wrong bytes is refused', async (type, key) => {
  const blob = blobOf(key)
  for (const [what, bytes] of [
    ['one more', Buffer.concat([blob, Buffer.from([0])])],
    ['another string', Buffer.concat([blob, pack('more')])],
    ['one less', blob.subarray(0, -1)],
    ['none', Buffer.alloc(0)],
    ['only the type', pack(type)],
    [
      'a type that is not the one before it',
      Buffer.concat([pack('ssh-dss'), blob.subarray(4 + type.length)]),
    ],
    ['a length beyond the end', Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff]), blob.subarray(4)])],
  ] as const)
    expect([what, typeof (await parsePublicKey(line(type, bytes)))]).toEqual([what, 'string'])
})

test('parsing never throws, and garbage is never accepted as a key', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary' }),
      async (text) => typeof (await parsePublicKey(text)) === 'string',
    ),
  )
  const types = fc.constantFrom('ssh-ed25519', 'ssh-rsa', 'ecdsa-sha2-nistp521', 'sk-ssh-ed25519@openssh.com')
  await fc.assert(
    fc.asyncProperty(
      types,
      fc.uint8Array({ maxLength: 200 }),
      async (type, bytes) => typeof (await parsePublicKey(line(type, Buffer.from(bytes)))) === 'string',
    ),
  )
})

test('keys that are private, weak or restricted are refused with advice', async () => {
  expect(await parsePublicKey(privateKey())).toMatch(/private/)
  expect(await parsePublicKey('PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none')).toMatch(
    /private key of PuTTY/,
  )
  expect(
    await parsePublicKey('---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----'),
  ).toMatch(/PuTTYgen/)
  expect(await parsePublicKey(rsa(2000))).toMatch(/2048/)
  expect(await parsePublicKey(`no-pty ${ed25519()}`)).toMatch(/options/)
  expect(await parsePublicKey(`${ed25519()}\r\n${ed25519()}`)).toMatch(/single line/)
  expect(await parsePublicKey(ed25519().replace('AAAA', 'AA*A'))).toMatch(/base64/)
})
