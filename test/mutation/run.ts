// The mutation score of one part of the product; docs/reliability.md says how to run it.
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { mutated } from './mutated.ts'

const part = process.argv[2]
const { files } = mutated(part)
const stryker = path.join(import.meta.dirname, 'node_modules/@stryker-mutator/core/bin/stryker.js')
// The rules of the repository read each file below it, so its copies are elsewhere.
const copies = path.join(tmpdir(), 'berth-mutation')
const args = ['run', 'test/mutation/stryker.json', '--mutate', files.join(','), '--tempDirName', copies]
const { status } = spawnSync(process.execPath, [stryker, ...args], {
  cwd: path.resolve(import.meta.dirname, '../..'),
  env: { ...process.env, BERTH_MUTATED: part },
  stdio: 'inherit',
})
process.exitCode = status ?? 1
