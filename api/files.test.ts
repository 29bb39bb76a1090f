import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { replaceDurably, writeDurably, writeWholeSync } from './files.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a file is replaced whole, only its owner may read it, and nothing else is left', async () => {
  const path = join(folder, 'record.json')
  writeFileSync(path, 'old', { mode: 0o644 })
  await writeDurably(path, 'new')
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['new', 0o600])
  writeWholeSync(path, 'newer')
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['newer', 0o600])
  await expect(writeDurably(folder, 'x')).rejects.toThrow()
  expect(() => writeWholeSync(folder, 'x')).toThrow()
  expect(readdirSync(folder)).toEqual(['record.json'])
})

test('two concurrent writes of a file leave the content of one of them, whole', async () => {
  const path = join(folder, 'shared.json')
  const texts = Array.from({ length: 20 }, (_, at) => String(at).repeat(10_000))
  await Promise.all(texts.map((text) => writeDurably(path, text)))
  expect(texts).toContain(readFileSync(path, 'utf8'))
})

test('a file that others may edit keeps its mode and owner, and nothing is left if it can’t', async () => {
  const path = join(folder, 'edited.yaml')
  writeFileSync(path, 'old')
  const like = statSync(path)
  await replaceDurably(path, 'new', { ...like, mode: 0o664 })
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['new', 0o664])
  expect([statSync(path).uid, statSync(path).gid]).toEqual([like.uid, like.gid])
  await expect(replaceDurably(join(folder, 'none', 'x'), 'x', like)).rejects.toThrow('ENOENT')
  expect(readdirSync(folder).filter((name) => name.startsWith('edited'))).toEqual(['edited.yaml'])
})
