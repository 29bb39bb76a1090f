import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { give } from './pack.ts'

test('a link that a machine put in place of its file does not change the owner of any file', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'give-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [secret, link] = [path.join(folder, 'secret'), path.join(folder, 'draft')]
  writeFileSync(secret, 'secret')
  symlinkSync(secret, link)
  const { uid, gid } = statSync(secret)
  await expect(give(link, { uid, gid })).rejects.toThrow('ELOOP')
  await give(secret, { uid, gid })
})
