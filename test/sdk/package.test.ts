import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { expect, test } from 'vitest'
import { service } from './harness/client.ts'
import { installedPackage } from './harness/packed.ts'

const root = path.resolve(import.meta.dirname, '../..')
const tsc = path.join(root, 'node_modules/.bin/tsc')

/** A program of a customer's that uses what the package promises. */
const PROGRAM = `
import { Berth, isBerthError, type Server } from '@berth/sdk'
const berth = new Berth({ baseUrl: process.env.BERTH_URL ?? '', token: process.env.BERTH_TOKEN })
const names: string[] = []
for await (const server of berth.servers.listAll({ status: 'running' })) names.push(server.name)
const first: Server | undefined = (await berth.servers.list({ limit: 1 })).items[0]
// @ts-expect-error: there is no such status
const wrong = () => berth.servers.list({ status: 'sleeping' })
try {
  await berth.servers.get('nothing')
} catch (error) {
  if (isBerthError(error, 'server_not_found')) console.log(names.join(), first?.status, error.code, typeof wrong)
}
`

test('the packed package has nothing that its linter would mend, and is small', async () => {
  const { tarball, installed } = installedPackage()
  const bytes = readFileSync(tarball)
  const { messages } = await publint({ pack: { tarball: new Uint8Array(bytes).buffer }, strict: true })
  expect(messages).toEqual([])
  expect(bytes.length).toBeLessThan(90_000)
  const manifest = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'))
  expect(manifest).not.toHaveProperty('dependencies')
  expect(manifest).not.toHaveProperty('private')
  const strange = readdirSync(installed).filter((name) => !/\.(js|d\.ts)$/.test(name))
  expect(strange.sort()).toEqual(['LICENSE', 'README.md', 'package.json'])
})

test('its declarations are found and right: in Node, in a bundler, and where only the browser has types', () => {
  const { project } = installedPackage()
  writeFileSync(path.join(project, 'program.mts'), PROGRAM)
  writeFileSync(path.join(project, 'process.d.ts'), 'declare const process: { env: Record<string, string> }')
  const check = (flags: string, ...files: string[]) => {
    const all = `--noEmit --strict --exactOptionalPropertyTypes --target es2022 ${flags}`.split(' ')
    return execFileSync(tsc, [...all, 'program.mts', ...files], { cwd: project, encoding: 'utf8' })
  }
  const inNode = `--lib es2022 --types node --typeRoots ${path.join(root, 'node_modules/@types')}`
  expect(check(`--module nodenext ${inNode}`)).toBe('')
  expect(check(`--module preserve --moduleResolution bundler ${inNode}`)).toBe('')
  expect(check('--module nodenext --lib es2022,dom', 'process.d.ts')).toBe('')
})

test('installed in a fresh folder, it works in Node against the service', async () => {
  const { project } = installedPackage()
  const t = await service()
  await t.make('web-1')
  writeFileSync(path.join(project, 'program.mts'), PROGRAM)
  const env = { ...process.env, BERTH_URL: t.baseUrl, BERTH_TOKEN: t.token }
  const { stdout } = await promisify(execFile)(process.execPath, ['program.mts'], { cwd: project, env })
  expect(stdout).toBe('web-1 running server_not_found function\n')
})
