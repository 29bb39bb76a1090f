// `npm run check:clients`: generates clients from openapi.json with the generators that customers use, compiles them
// strictly, runs two of them against a real service, and lints the document. All that it installs is in a temporary
// folder. It takes a minute or two and needs npm's registry, so it is not part of `npm test`.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { listening, start, twoAtATime } from '../process/harness/child.ts'
import { type Generator, generators, packages } from './generators.ts'

const root = path.resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(path.join(tmpdir(), 'berth-clients-'))
const source = readFileSync(path.join(root, 'openapi.json'), 'utf8')
const write = (file: string, text: string) => {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
  writeFileSync(path.join(folder, file), text)
}

/** One line of the table; what went wrong stands below it. */
interface Check {
  title: string
  fault: string | null
}

/** Runs a program in the folder; @returns what it wrote where it failed */
async function fault(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string | null> {
  const PATH = [path.dirname(process.execPath), process.env.PATH].join(path.delimiter)
  const options = { cwd: folder, env: { ...process.env, PATH, ...env }, maxBuffer: 64 << 20 }
  return promisify(execFile)(program, args, options).then(
    () => null,
    ({ message, stdout = '', stderr = '' }: Error & { stdout?: string; stderr?: string }) =>
      `${stdout}${stderr}`.trim() || message,
  )
}

const tool = (name: string, ...args: string[]) =>
  fault(process.execPath, [path.join('node_modules/.bin', name), ...args])

async function install(): Promise<Check> {
  write('package.json', JSON.stringify({ private: true, type: 'module', dependencies: packages }))
  write('openapi.json', source)
  cpSync(path.join(import.meta.dirname, 'uses'), path.join(folder, 'uses'), { recursive: true })
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--prefer-offline',
    '--loglevel=error',
  ]
  return { title: `install ${Object.keys(packages).length} packages`, fault: await fault('npm', args) }
}

const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: ['node'],
  allowImportingTsExtensions: true,
}

async function tryOut({ name, title, command, files, lives }: Generator): Promise<Check[]> {
  const out = `generated/${name}`
  for (const [file, text] of Object.entries(files?.(out) ?? {})) write(file, text)
  const generated = { title: `${title} generates`, fault: await tool(...command(out)) }
  if (generated.fault !== null) return [generated]
  write(
    `${name}.json`,
    JSON.stringify({ compilerOptions: STRICT, include: [out], files: [`uses/${name}.ts`] }),
  )
  const compiled = { title: `${title} compiles`, fault: await tool('tsc', '-p', `${name}.json`) }
  if (compiled.fault !== null || !lives) return [generated, compiled]
  return [generated, compiled, { title: `${title} lives`, fault: await live(name) }]
}

/** Runs a use of a generated client against a service of its own. */
async function live(name: string): Promise<string | null> {
  const data = path.join(folder, `data-${name}`)
  const args = ['serve', '--data', data, '--port', '0', '--compute', 'simulator', '--sample-seconds', '1']
  const service = start('api/main.ts', args)
  try {
    const { address } = await listening(service)
    const token = readFileSync(path.join(data, 'demo-token'), 'utf8').trim()
    return await fault(process.execPath, [`uses/${name}.ts`], { BERTH_URL: address, BERTH_TOKEN: token })
  } finally {
    service.process.kill()
    await service.ended
  }
}

/** OAuth scopes of bearer tokens: OpenAPI 3.1 allows them as we have them, Spectral does not know that yet. */
const KNOWN = 'oas3-operation-security-defined'

interface Finding {
  code: string
  message: string
  path: string[]
}

async function spectral(): Promise<Check> {
  write('.spectral.yaml', 'extends: ["spectral:oas"]\n')
  const failed = await tool('spectral', 'lint', 'openapi.json', '-f', 'json', '-o', 'spectral.json')
  const title = `Spectral ${packages['@stoplight/spectral-cli']}, spectral:oas`
  try {
    const findings: Finding[] = JSON.parse(readFileSync(path.join(folder, 'spectral.json'), 'utf8'))
    const unknown = findings.filter(({ code }) => code !== KNOWN)
    const lines = unknown.map(({ code, path: at, message }) => `${code} ${at.join('/')}: ${message}`)
    return { title, fault: lines.join('\n') || null }
  } catch {
    return { title, fault: failed ?? 'it wrote no report' }
  }
}

async function redocly(): Promise<Check> {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  const lines = problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)
  return { title: 'Redocly, recommended', fault: lines.join('\n') || null }
}

const MOST_LINES = 30

/** @returns whether it holds */
function print({ title, fault }: Check): boolean {
  console.log(`${fault === null ? 'ok    ' : 'FAILED'}  ${title}`)
  for (const line of fault?.split('\n').slice(0, MOST_LINES) ?? []) console.log(`          ${line}`)
  return fault === null
}

async function checks(): Promise<boolean[]> {
  const installed = print(await install())
  if (!installed) return [false]
  const results: boolean[] = []
  // Each uses one core, and the slowest comes first.
  await twoAtATime([
    async () => void results.push(print(await spectral())),
    ...generators.map((generator) => async () => {
      results.push(...(await tryOut(generator)).map(print))
    }),
    async () => void results.push(print(await redocly())),
  ])
  return results
}

try {
  const results = await checks()
  const failed = results.filter((holds) => !holds).length
  console.log(`${results.length - failed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
