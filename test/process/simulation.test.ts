import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { read } from '../harness/sources.ts'
import { planted } from '../simulation/planted.ts'

const root = path.resolve(import.meta.dirname, '../..')
const SEED = Number(process.env.BERTH_TEST_SEED ?? 1)

/** Runs `npm run simulate`; what it prints goes to the test's output, too, without the long list of points. */
async function simulate(...args: string[]): Promise<string> {
  const command = [path.join(root, 'test/simulation/run.ts'), ...args]
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: root }).catch(
    (error: { stdout: string }) => error,
  )
  console.log(`simulate ${args.join(' ')}\n${stdout.replaceAll(/^(never reached: |\d+ × ).*\n/gm, '')}`)
  return stdout
}

test('months of faults break no promise, and another process lives the last of them again', async () => {
  const said = await simulate('--seconds', '30', '--seed', String(SEED), '--once')
  expect(said).toMatch(/^[1-9]\d* months, 0 violations, /m)
  const months = Number(/^(\d+) months/m.exec(said)?.[1])
  const again = await simulate('--seed', String(SEED + months - 1), '--once')
  const hashIn = (text: string) => /^hash [0-9a-f]{64}$/m.exec(text)?.[0]
  expect(hashIn(again)).toBeDefined()
  expect(hashIn(again)).toBe(hashIn(said))
})

test('on PostgreSQL, a history in which transactions meet and the database fails over breaks no promise', async () => {
  const said = await simulate('--postgres', '--seed', '5', '--once', '--points')
  expect(said).toMatch(/^1 months, 0 violations, /m)
  expect(said).toMatch(/^[1-9]\d* × a statement waits for a lock$/m)
  expect(said).toMatch(/^[1-9]\d* × the database fails over$/m)
})

test('each of fifty mistakes can still be planted', () => {
  expect(planted.length).toBeGreaterThanOrEqual(50)
  const moved = planted.flatMap(({ name, file, edits }) =>
    edits.filter(({ find }) => read(file).split(find).length !== 2).map(() => `${name}: ${file}`),
  )
  expect(moved, 'The code has moved: correct the texts in test/simulation/planted.ts.').toEqual([])
})
