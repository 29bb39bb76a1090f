import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')

/**
 * Writes the package to be published: JavaScript, declarations, README, licence and manifest. Within this repository
 * everything imports the sources, so nothing waits for a build.
 */
export function build(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const tsc = path.join(root, 'node_modules/.bin/tsc')
  execFileSync(tsc, ['-p', path.join(root, 'sdk'), '--outDir', folder], { stdio: 'inherit' })
  const {
    private: _,
    exports: __,
    devDependencies: ___,
    ...manifest
  }: Record<string, unknown> = JSON.parse(readFileSync(path.join(root, 'sdk/package.json'), 'utf8'))
  const published = {
    ...manifest,
    sideEffects: false,
    exports: { '.': { types: './index.d.ts', default: './index.js' }, './package.json': './package.json' },
  }
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  copyFileSync(path.join(root, 'sdk/README.md'), path.join(folder, 'README.md'))
  copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
}

if (import.meta.main) {
  const [, , folder] = process.argv
  build(path.resolve(folder ?? path.join(root, 'sdk/dist')))
  if (folder === undefined) process.stdout.write('Built the client: npm install ./sdk/dist\n')
}
