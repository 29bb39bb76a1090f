import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')

interface Manifest {
  private?: boolean
  version: string
  dependencies?: Record<string, string>
}

function manifestOf(folder: string): Manifest {
  const manifest: Manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  return manifest
}

/**
 * Writes the package for customers: JavaScript for Node 20, and inside it all packages that it needs, in the versions
 * that the tests ran with. So `npm install` of the one file that `npm pack` makes of it needs no registry.
 */
export function build(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  const tsc = path.join(root, 'node_modules/.bin/tsc')
  execFileSync(tsc, ['-p', path.join(root, 'cli'), '--outDir', folder], { stdio: 'inherit' })
  const { private: _, dependencies = {}, ...manifest } = manifestOf(path.join(root, 'cli'))
  for (const name of Object.keys(dependencies)) copyPackage(name, folder)
  const sdk = path.join(folder, 'node_modules/@berth/sdk')
  execFileSync(process.execPath, [path.join(root, 'sdk/build.ts'), sdk], { stdio: 'inherit' })
  const needed = { '@berth/sdk': manifestOf(sdk).version, ...dependencies }
  const published = { ...manifest, dependencies: needed, bundleDependencies: Object.keys(needed) }
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  copyFileSync(path.join(root, 'cli/README.md'), path.join(folder, 'README.md'))
  copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
}

/** Copies an installed package and those that it needs. @throws Error for one with packages of its own inside */
function copyPackage(name: string, folder: string): void {
  const from = path.join(root, 'node_modules', name)
  const to = path.join(folder, 'node_modules', name)
  if (existsSync(to)) return
  if (existsSync(path.join(from, 'node_modules')))
    throw new Error(`${from} has a node_modules of its own, which the build does not expect: run npm dedupe.`)
  cpSync(from, to, { recursive: true })
  for (const needed of Object.keys(manifestOf(from).dependencies ?? {})) copyPackage(needed, folder)
}

if (import.meta.main) {
  build(path.join(root, 'cli/dist'))
  process.stdout.write('Built the command line: npm pack ./cli/dist\n')
}
