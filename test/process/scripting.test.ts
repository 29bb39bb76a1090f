import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createToken } from '../../api/accounts/tokens.ts'
import { systemClock } from '../../api/clock.ts'
import { notesOf, notesSince } from '../../api/commands/upgrade-notes.ts'
import { openSqlite } from '../../api/database/sqlite.ts'
import { createPerson } from '../../api/people/person/people.ts'
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

test('signs of abuse are listed with the command to run, by kind and account', async () => {
  const data = folder()
  const env = { BERTH_DATA: data }
  const ids = new Map<string, string>()
  for (const name of ['ann', 'bob'])
    ids.set(name, (await run(['account', 'create', `${name}@example.com`], env)).stdout.trim())
  const account_id = ids.get('ann') ?? ''
  const db = await openSqlite(path.join(data, 'berth.db'))
  const seen = { since: 1_795_000_000_000, seen_at: 1_795_000_600_000, figure: 900, peak: 1_200 }
  const about = { sign_id: 'sign', kind: 'mail_tries', subject: 'server-1', account_id } as const
  await db
    .insertInto('signs')
    .values({ ...about, ...seen, accounts: JSON.stringify([account_id]) })
    .execute()
  await db.destroy()
  const list = async (...words: string[]) => {
    const { stdout } = await run(['abuse', 'list', ...words, '--json'], env)
    return JSON.parse(stdout)
  }
  expect(await list('--account', 'ann@example.com', '--kind', 'mail_tries')).toEqual([
    {
      ...{ kind: 'mail_tries', about: 'server-1', accounts: 'ann@example.com', unit: 'tries_per_hour' },
      ...{ since: '2026-11-18 11:06:40Z', seen: '2026-11-18 11:16:40Z', figure: '900', peak: '1200' },
      remedy: expect.stringContaining('berthd server suspend server-1 --reason "tries to send mail"'),
    },
  ])
  expect([await list('--account', 'bob@example.com'), await list('--kind', 'cpu_at_limit')]).toEqual([[], []])
  expect((await run(['abuse', 'list', '--kind', 'whim'], env)).code).toBe(2)
})

test('an operator opens, reads, replies to and closes a complaint on the command line', async () => {
  const env = { BERTH_DATA: folder() }
  await run(['account', 'create', 'ann@example.com'], env)
  const abuse = async (...words: string[]) => {
    const { stdout, code } = await run(['abuse', ...words, '--json'], env)
    return code === 0 ? JSON.parse(stdout) : code
  }
  const opening = ['open', 'ann@example.com', '--kind', 'spam', '--text', 'A mailbox got spam.']
  const { complaint: id, ...opened } = await abuse(...opening, '--hours', '48')
  const shared = { account: 'ann@example.com', kind: 'spam' }
  expect(opened).toMatchObject({
    ...shared,
    status: 'awaiting_customer',
    next: expect.stringContaining('Wait'),
  })
  expect(await abuse('complaints')).toMatchObject([{ ...shared, complaint: id, status: 'awaiting_customer' }])
  const replied = await abuse('reply', id, '--text', 'Please hurry.', '--hours', '2')
  expect(Object.values(replied)).toContain('Please hurry.')
  expect(await abuse('close', id, '--outcome', 'solved')).toMatchObject({
    status: 'closed',
    outcome: 'solved',
  })
  expect(await abuse('show', id)).toMatchObject({ complaint: id, text: 'A mailbox got spam.' })
  expect(await abuse('complaints', '--account', 'ann@example.com')).toEqual([])
  expect(await abuse('complaints', '--closed')).toMatchObject([{ complaint: id, outcome: 'solved' }])
  for (const [code, ...wrong] of [
    [1, 'close', id, '--outcome', 'solved'],
    [1, 'show', 'none'],
    [1, ...opening, '--hours', '721'],
    [1, ...opening, '--server', '00000000-0000-4000-8000-000000000000'],
    [2, 'open', 'ann@example.com', '--kind', 'whim', '--text', 'x'],
    [2, 'open', 'nobody@example.com', '--kind', 'spam', '--text', 'x'],
  ] as const)
    expect([wrong, await abuse(...wrong)]).toEqual([wrong, code])
})

test('a program reads lists and objects of berthd as JSON, and asks for parts of them', async () => {
  const env = { BERTH_DATA: folder() }
  for (const name of ['ann', 'bob', 'carol']) await run(['account', 'create', `${name}@example.com`], env)
  expect(await run(['account', 'create', 'Ann@Example.com'], env)).toMatchObject({
    code: 2,
    stderr: 'The account ann@example.com already exists.\n',
  })
  await run(['account', 'suspend', 'BOB@example.com', '--reason', 'x'], env)
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
  expect((await run(['upgrade-notes', '0.0.1'])).stdout).toBe(`${notesOf(read('CHANGELOG.md')).join('\n')}\n`)
  expect(await run(['upgrade-notes', 'nonsense'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('nonsense'),
  })
  const text = '## [2.0.0]\n\n### Upgrading\n\n- One\n  in two lines.\n- Two\n\n### Money\n\n- Other\n'
  expect(notesOf(text)).toEqual(['- One\n  in two lines.', '- Two'])
})

test('what an upgrade from a version needs is read from the changelog that the program comes with, without git', () => {
  const part = (version: string) => `## [${version}]\n\n### Upgrading\n\n- ${version}\n\n`
  const text = ['Unreleased', '1.10.0', '1.9.0', '1.0.1'].map(part).join('')
  expect(notesSince(text, '1.9.0')).toEqual(['- Unreleased', '- 1.10.0'])
  expect(notesSince(text, 'v1.10.0')).toEqual(['- Unreleased'])
  expect(notesSince(text, '0.9.0')).toHaveLength(4)
})

test('a program reads errors of berthd as JSON, also those about its arguments', async () => {
  const env = { BERTH_DATA: folder() }
  await run(['account', 'create', 'ann@example.com'], env)
  const errorOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await run([...args, '--json'], env)
    expect(stdout).toBe('')
    const { error } = JSON.parse(stderr)
    expect(error).toEqual({ message: expect.any(String), exit_code: code })
    return error.message
  }
  expect(await errorOf('account', 'show', 'bob@example.com')).toMatch(/^No such account: bob@example.com\./)
  expect(await errorOf('account', 'show')).toBe("missing required argument 'account'")
  expect(await errorOf('token', 'list', '--limit', '0')).toMatch(/^--limit is "0"/)
  expect(await errorOf('nonsense')).toMatch(/^unknown command 'nonsense'/)
})

test('an operator pages through tokens, newest first, and finds some of them, or of the people', async () => {
  const data = folder()
  const env = { BERTH_DATA: data }
  const accountId = (await run(['account', 'create', 'ann@example.com'], env)).stdout.trim()
  const db = openSqlite(path.join(data, 'berth.db'))
  for (const name of ['one', 'two', '50%'])
    await createToken(db, systemClock, { accountId, name, scopes: [], cidrs: [], expiresAt: null })
  const bob = { email: 'bob@example.com', name: 'Bob Fifty', language: 'en', password: null } as const
  await createPerson(db, systemClock, bob)
  await db.destroy()
  const named = async (...args: string[]) => {
    const { stdout, stderr } = await run([...args, '--json'], env)
    return [...JSON.parse(stdout).map(({ name }: { name: string }) => name), stderr]
  }
  const more = '3 tokens. List more with: --offset 2\n'
  expect(await named('token', 'list', '--limit', '2')).toEqual(['50%', 'two', more])
  expect(await named('token', 'list', '--offset', '2')).toEqual(['one', ''])
  expect(await named('token', 'list', '--search', '0%')).toEqual(['50%', ''])
  expect(await named('person', 'list', '--search', 'fifty')).toEqual(['Bob Fifty', ''])
  expect(await named('person', 'list', '--operators')).toEqual([''])
})
