import { expect, test } from 'vitest'
import { hashPassword, isHashOf, sha512Crypt } from './crypt.ts'

// Hashes that OpenSSL computes (`openssl passwd -6`): the specification's first pair, and one longer than the
// digest's 64 bytes.
test.each([
  [
    'Hello world!',
    'saltstring',
    'svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1',
  ],
  [
    'пароль long long password of more than sixty-four bytes, so that the blocks repeat, yes they do, really',
    'abcdefghijklmnop',
    'oq0qsX4QSqTKhccUenh7mtNJFjKAh//bSGM050EktQ3AjZ5xDKXHocIDQnqmwcpaVXq.hnkGZXwMXCZ2ZaRqG1',
  ],
])('sha512-crypt of "%s"', (password, salt, hash) => {
  expect(sha512Crypt(password, salt)).toBe(`$6$${salt}$${hash}`)
})

test('a salt is cut to 16 characters', () => {
  expect(sha512Crypt('x', 'abcdefghijklmnopqrst')).toBe(sha512Crypt('x', 'abcdefghijklmnop'))
})

test('a hash matches its own password only, and hashing twice gives different hashes', () => {
  const hash = hashPassword('secret')
  expect(isHashOf('secret', hash)).toBe(true)
  expect(isHashOf('Secret', hash)).toBe(false)
  expect(isHashOf('secret', 'no hash')).toBe(false)
  expect(hashPassword('secret')).not.toBe(hash)
})
