import { expect, test } from 'vitest'
import { codeOf, otpauthUri, stepOf, toBase32 } from './totp.ts'

// RFC 6238, appendix B; of its eight digits the last six.
const secret = Buffer.from('12345678901234567890')

test.each([
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
])('at second %d the code is the one of RFC 6238', (seconds, code) => {
  expect(codeOf(secret, Math.floor(seconds / 30))).toBe(code)
  expect(stepOf(secret, code, seconds * 1000)).toBe(Math.floor(seconds / 30))
})

test('a code is accepted if the clock of the device is at most one step off', () => {
  const now = 1234567890_000
  const step = now / 30_000
  const taken = [-2, -1, 0, 1, 2].map((off) => stepOf(secret, codeOf(secret, step + off), now))
  expect(taken).toEqual([null, step - 1, step, step + 1, null])
  expect(stepOf(secret, 'abcdef', now)).toBe(null)
})

test('the URI for apps has the secret in base 32, and names cannot change its parameters', () => {
  expect(toBase32(secret)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
  expect(otpauthUri(secret, { site: 'a.example:8080', email: 'ann+x&y@example.com' })).toBe(
    'otpauth://totp/a.example%3A8080:ann%2Bx%26y%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=a.example%3A8080',
  )
})
