import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { build } from '../../../sdk/build.ts'

/** The package as it would be published, and a fresh folder into which it is installed. */
export function installedPackage(): { tarball: string; project: string; installed: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-sdk-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  build(path.join(folder, 'dist'))
  const npm = ['pack', './dist', '--silent', '--offline']
  const name = execFileSync('npm', npm, { cwd: folder, encoding: 'utf8' }).trim()
  const tarball = path.join(folder, name)
  // Unpacks a package as npm install does with one that has no dependencies.
  const project = path.join(folder, 'project')
  const installed = path.join(project, 'node_modules/@berth/sdk')
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  return { tarball, project, installed }
}
