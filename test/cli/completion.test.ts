import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Service, service } from '../sdk/harness/client.ts'
import { berthOf, type Cli, expectSession, loggedIn } from './harness/berth.ts'

const run = promisify(execFile)
const program = path.resolve(import.meta.dirname, '../../cli/berth.mjs')

const has = (shell: string) =>
  (process.env.PATH ?? '').split(path.delimiter).some((folder) => existsSync(path.join(folder, shell)))
/** Defines a test for a shell that this machine may lack. */
function testIn(shell: string) {
  if (!has(shell)) console.warn(`*** SKIPPED: completion in ${shell}, which is not installed. ***`)
  return test.skipIf(!has(shell))
}

async function completed({ run }: Cli, words: string[]): Promise<string[]> {
  const { code, out, err } = await run(`__complete -- ${words.map((word) => `'${word}'`).join(' ')}`)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out.split('\n').slice(0, -1)
}

test('commands, options and choices are completed at any position of the line', async () => {
  const t = await loggedIn()
  const known = async (line: string) => completed(t, line.split(' '))
  expect(await known('se')).toEqual(['server'])
  expect(await known('server st')).toEqual(['start', 'stop', 'stats'])
  expect(await known('-o json server sta')).toEqual(['start', 'stats'])
  expect(await known('server --url= list --so')).toEqual(['--sort'])
  expect(await known('server metrics --since ')).toEqual(['1h', '24h', '7d', '30d'])
  expect(await known('server metrics --since=3')).toEqual(['--since=30d'])
  expect(await known('server metrics --type cpu --type n')).toEqual(['network'])
  expect(await known('server list -o j')).toEqual(['json'])
  expect(await known('servers ls -o j')).toEqual(['json'])
  expect(await known('completion ')).toEqual(['bash', 'zsh', 'fish'])
  expect(await known('server metrics -- --s')).toEqual([])
  expect(await known('nothing ')).toEqual([])
  expect(await completed(t, [])).toContain('login')
  expect(await completed(t, [''])).not.toContain('__complete')
})

test('the scripts are printed, and --help says where to put them', async () => {
  await expectSession(berthOf(await service()), 'completion', [
    'completion --help',
    'completion bash',
    'completion zsh',
    'completion fish',
    'completion tcsh',
    'completion',
  ])
})

test('names are completed where a command takes them, and secrets never are', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await t.make('web-2')
  await t.make('db-1')
  const known = async (line: string) => completed(t, line.split(' '))
  expect(await known('server show ')).toEqual(['db-1', 'web-2', 'web-1'])
  expect(await known('server stop --force web')).toEqual(['web-2', 'web-1'])
  expect(await known('server show web-1 ')).toEqual([])
  expect(await known('operation list w')).toEqual(['web-2', 'web-1'])
  expect(await known('server list --zone=lo')).toEqual(['--zone=local-1'])
  expect(await known('server list --token ')).toEqual([])
  await t.run(`login ${t.baseUrl} --as home`, t.token)
  expect(await known('whoami --context ')).toEqual(['home'])
  expect(await known('context use h')).toEqual(['home'])
})

test('completion stays silent if names are unavailable: without a login, a token or a service', async () => {
  const t = await loggedIn()
  expect(await completed(t, ['server', 'show', '--token', 'wrong', ''])).toEqual([])
  t.env.BERTH_URL = 'http://127.0.0.1:9'
  expect(await completed(t, ['server', 'show', ''])).toEqual([])
  t.env.BERTH_TOKEN = undefined
  expect(await completed(t, ['server', 'show', ''])).toEqual([])
})

test('completion takes two seconds at most', async () => {
  const t = await loggedIn()
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => silent.closeAllConnections())
  const address = silent.address()
  if (address === null || typeof address === 'string') throw new Error('it listens on a port')
  t.env.BERTH_URL = `http://127.0.0.1:${address.port}`
  const limits = vi.spyOn(AbortSignal, 'timeout')
  onTestFinished(() => limits.mockRestore())
  expect(await completed(t, ['server', 'show', ''])).toEqual([])
  expect(limits.mock.calls).toEqual([[2_000]])
  silent.close()
})

test('names that would read as an option, or move the cursor, are left out', async () => {
  const t = await loggedIn()
  for (const name of ['--help', 'ab', 'fine']) await t.berth.projects.create({ name })
  // The API takes no such name; the program is there for services of other versions.
  await t.db.updateTable('projects').set({ name: 'a\u202Eb' }).where('name', '=', 'ab').execute()
  expect(await completed(t, ['server', 'list', '--project', ''])).toEqual(['fine', 'Default'])
})

interface Shell extends Cli, Service {
  /** A folder that must stay empty: names would create files here if a shell executed them. */
  trap: string
  /** Runs a script in a shell that has `berth`. @returns the lines of its output */
  sh(shell: string, script: string): Promise<string[]>
}

const NAMES = ['two words', 'it’s "quoted"', 'a$HOME', 'me@laptop', 'semi;colon', '*']

/** Projects with names of all kinds, and shells in which `berth` is a command. */
async function shells(): Promise<Shell> {
  const t = await loggedIn()
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-shell-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const trap = path.join(folder, 'x')
  const berth = path.join(folder, 'berth')
  writeFileSync(berth, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`)
  chmodSync(berth, 0o755)
  for (const name of [...NAMES, `$(touch ${trap})`, `\`touch ${trap}\``, `;touch ${trap};`])
    await t.berth.projects.create({ name })
  const env = {
    ...process.env,
    ...t.env,
    HOME: folder,
    PATH: `${folder}${path.delimiter}${process.env.PATH}`,
  }
  const sh = async (shell: string, script: string) => {
    const isolated = { bash: ['--norc', '--noprofile'], zsh: ['-f'], fish: ['--no-config'] }[shell] ?? []
    const { stdout } = await run(shell, [...isolated, '-c', script], { env: { ...env, LC_ALL: 'C.UTF-8' } })
    expect(existsSync(trap)).toBe(false)
    return stdout.split('\n').slice(0, -1)
  }
  return { ...t, trap, sh }
}

/** Returns the words as bash splits the line, and the line itself. */
const inBash = (line: string, words: string[], current = words.at(-1) ?? '') => `
  source <(berth completion bash)
  COMP_LINE=$'${line.replaceAll("'", "\\'")}' COMP_POINT=\${#COMP_LINE}
  COMP_WORDS=(${words.map((word) => `$'${word.replaceAll("'", "\\'")}'`).join(' ')}) COMP_CWORD=${words.length - 1}
  _berth berth $'${current.replaceAll("'", "\\'")}'
  printf '%s\\n' "\${COMPREPLY[@]}"`

test('bash completes commands and quoted names, and executes none of them', async () => {
  const t = await shells()
  const at = (...parts: Parameters<typeof inBash>) => t.sh('bash', inBash(...parts))
  expect(await at('berth server sta', ['berth', 'server', 'sta'])).toEqual(['start', 'stats'])
  const list = ['berth', 'server', 'list', '--project']
  const all = await at('berth server list --project ', [...list, ''])
  expect(all).toEqual(
    expect.arrayContaining([
      'two\\ words',
      'it’s\\ \\"quoted\\"',
      'a\\$HOME',
      'me@laptop',
      'semi\\;colon',
      '\\*',
    ]),
  )
  // When bash parses the quoted names again, they equal the original names.
  const read = await t.sh('bash', `printf '%s\\n' ${all.join(' ')}`)
  const names = (await Array.fromAsync(t.berth.projects.listAll())).map(({ name }) => name)
  expect(read).toEqual(names)
  expect(await at('berth server list --project two\\\\ w', [...list, 'two\\\\ w'])).toEqual(['two\\ words'])
  expect(await at("berth server list --project 'two w", [...list, "'two w"], 'two w')).toEqual(['two words'])
  expect(await at('berth server list --project me@la', [...list, 'me', '@', 'la'], '@la')).toEqual([
    '@laptop',
  ])
  expect(await at('berth server list --project=', [...list, '='], '')).toContain('two\\ words')
  expect(await at('berth server list --project=tw', [...list, '=', 'tw'])).toEqual(['two\\ words'])
})

testIn('zsh')('zsh gets the names as they are, which it quotes itself', async () => {
  const t = await shells()
  const at = (words: string[]) =>
    t.sh(
      'zsh',
      `compdef() { : }; source <(berth completion zsh)
       compadd() { shift; print -rl -- "$@" }; _files() { print files }
       words=(${words.map((word) => `'${word}'`).join(' ')}) CURRENT=${words.length}; _berth`,
    )
  expect(await at(['berth', 'server', 'sta'])).toEqual(['start', 'stats'])
  expect(await at(['berth', 'server', 'list', '--project', ''])).toEqual(expect.arrayContaining(NAMES))
  expect(await at(['berth', 'server', 'list', '--project', 'two\\ w'])).toEqual(['two words'])
  expect(await at(['berth', 'nothing', ''])).toEqual(['files'])
})

testIn('fish')('fish gets the names as they are, which it quotes itself', async () => {
  const t = await shells()
  const at = (line: string) => t.sh('fish', `berth completion fish | source; complete -C '${line}'`)
  expect(await at('berth server sta')).toEqual(['start', 'stats'])
  expect(await at('berth server list --project ')).toEqual(expect.arrayContaining(NAMES))
  expect(await at('berth server list --project two\\ w')).toEqual(['two words'])
})
