import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { notesOf } from '../../api/commands/upgrade-notes.ts'
import { folder, run, serve } from './harness/berthd.ts'
import { ROOT } from './harness/child.ts'

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')

test('the program, the API, the client, the command line and the console have one version', async () => {
  const { stdout } = await run(['--version'])
  const manifests = ['api', 'sdk', 'cli', 'console'].map((part) => `${part}/package.json`)
  for (const file of manifests)
    expect([file, read(file)]).toEqual([file, expect.stringContaining(`"version": "${stdout.trim()}"`)])
  expect(JSON.parse(read('openapi.json')).info.version).toBe(stdout.trim())
})

test('a program reads lists and objects of berthd as JSON, and asks for parts of them', async () => {
  const env = { BERTH_DATA: folder() }
  for (const name of ['ann', 'bob', 'carol']) await run(['account', 'create', `${name}@example.com`], env)
  await run(['account', 'suspend', 'bob@example.com', '--reason', 'x'], env)
  const json = async (...args: string[]) => JSON.parse((await run([...args, '--json'], env)).stdout)
  expect(await json('account', 'list', '--search', 'ANN@')).toEqual([
    { account: expect.any(String), email: 'ann@example.com', status: 'active', balance: '0.00' },
  ])
  expect(await json('account', 'list', '--status', 'suspended')).toMatchObject([{ email: 'bob@example.com' }])
  const page = await run(['account', 'list', '--json', '--limit', '1', '--offset', '1'], env)
  expect(JSON.parse(page.stdout)).toMatchObject([{ email: 'bob@example.com' }])
  expect(page.stderr).toBe('3 accounts. List more with: --offset 2\n')
  expect(await json('account', 'show', 'ann@example.com')).toMatchObject({
    email: 'ann@example.com',
    outgoing_mail: 'closed',
  })
  expect(await json('server', 'list', '--status', 'error')).toEqual([])
})

test('the service has a name among the processes of its host', async () => {
  const { process } = await serve(folder())
  expect(readFileSync(`/proc/${process.pid}/comm`, 'utf8')).toBe('berthd serve\n')
})

test('an operator reads what an upgrade from a commit needs, and nothing that was known there', async () => {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
  const old = execFileSync('git', ['show', `${commit}:CHANGELOG.md`], { cwd: ROOT, encoding: 'utf8' })
  const { stdout } = await run(['upgrade-notes', commit])
  const added = notesOf(read('CHANGELOG.md')).filter((note) => !notesOf(old).includes(note))
  expect(stdout).toBe(
    added.length > 0 ? `${added.join('\n')}\n` : `Nothing: the upgrade from ${commit} needs no step.\n`,
  )
  expect(await run(['upgrade-notes', 'nonsense'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('nonsense'),
  })
  const text = '## [2.0.0]\n\n### Upgrading\n\n- One\n  in two lines.\n- Two\n\n### Money\n\n- Other\n'
  expect(notesOf(text)).toEqual(['- One\n  in two lines.', '- Two'])
})
