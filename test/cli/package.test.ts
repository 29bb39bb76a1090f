import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { build } from '../../cli/build.ts'
import manifest from '../../cli/package.json' with { type: 'json' }
import { service } from '../sdk/harness/client.ts'
import type { Run } from './harness/berth.ts'

/** The folder of a Node 20 of this machine, the oldest that the package promises to work with. */
const node20 = (process.env.PATH ?? '').split(path.delimiter).find((folder) => {
  try {
    const version = execFileSync(path.join(folder, 'node'), ['--version'], { encoding: 'utf8' })
    return version.startsWith('v20.')
  } catch {
    return false
  }
})
if (node20 === undefined)
  console.warn('SKIPPED: no Node 20 on the PATH, so the package of the command line is not tried with it.')

test.skipIf(node20 === undefined)(
  'the packed program installs alone, with nothing from a registry, and works with Node 20',
  async () => {
    const home = mkdtempSync(path.join(tmpdir(), 'berth-cli-'))
    onTestFinished(() => rmSync(home, { recursive: true }))
    const env = {
      HOME: home,
      PATH: `${node20}:/usr/bin:/bin`,
      npm_config_cache: path.join(home, 'cache'),
      npm_config_update_notifier: 'false',
    }
    const npm = (folder: string, ...args: string[]) =>
      execFileSync('npm', [...args, '--offline', '--loglevel=warn'], { cwd: folder, env, encoding: 'utf8' })
    build(path.join(home, 'dist'))
    const tarball = npm(home, 'pack', './dist').trim()
    mkdirSync(path.join(home, 'project'))
    npm(path.join(home, 'project'), 'install', '--no-audit', '--no-fund', path.join(home, tarball))

    const t = await service()
    await t.make('web-1')
    const berth = async (args: string[], input = ''): Promise<Run> => {
      const child = spawn(path.join(home, 'project/node_modules/.bin/berth'), args, { env })
      child.stdin.end(input)
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
      const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
      return { code, out, err }
    }
    const well = (out: unknown) => ({ code: 0, out, err: '' })
    expect(await berth(['--version'])).toEqual(well(`${manifest.version}\n`))
    expect(await berth(['login', t.baseUrl], t.token)).toEqual(well('Logged in as customer1@example.com.\n'))
    expect(await berth(['server', 'list', '--no-header', '--columns', 'name,status'])).toEqual(
      well('web-1  running\n'),
    )
    expect(await berth(['server', 'list', '-o', 'yaml'])).toEqual(
      well(expect.stringContaining('name: web-1')),
    )
    expect(await berth(['completion', 'bash'])).toEqual(well(expect.stringContaining('complete -o default')))
    expect(await berth(['__complete', '--', 'server', 'show', ''])).toEqual(well('web-1\n'))
  },
  180_000,
)
