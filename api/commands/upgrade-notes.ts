import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Command } from 'commander'
import { ConfigError } from '../config.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

export function upgradeNotesCommand(): Command {
  return new Command('upgrade-notes')
    .description('print what an upgrade from an earlier version or commit to this one requires')
    .argument('<from>', 'the earlier version, such as 0.1.0, or commit, as in /etc/berth/previous')
    .action((from: string) => {
      const notes = notesSince(readFileSync(path.join(ROOT, 'CHANGELOG.md'), 'utf8'), from)
      console.log(notes.length > 0 ? notes.join('\n') : `Nothing: the upgrade from ${from} needs no step.`)
    })
}

/** Returns the entries below each heading "Upgrading" that a version or commit lacks. @throws ConfigError */
export function notesSince(changelog: string, from: string): string[] {
  const version = versionIn(from)
  if (version) return notesOf(changelog, version)
  const known = new Set(notesOf(textAt(from)))
  return notesOf(changelog).filter((note) => !known.has(note))
}

/** Returns the changelog of a commit. @throws ConfigError */
function textAt(commit: string): string {
  if (/^\w+$/.test(commit))
    try {
      const git = ['-C', ROOT, 'show', `${commit}:CHANGELOG.md`]
      return execFileSync('git', git, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    } catch {
      // Git or the checkout is missing, or the commit is unknown or predates the changelog.
    }
  throw new ConfigError(
    `No such commit with a CHANGELOG.md in ${ROOT}: ${commit}. Give its version, which that berthd prints with --version.`,
  )
}

/** Returns the entries below each heading "Upgrading", or only those of versions after the given one. */
export function notesOf(changelog: string, after: readonly number[] = []): string[] {
  return changelog
    .split(/^(?=## )/m)
    .filter((part) => isLater(versionIn(/^## \[(.+?)\]/.exec(part)?.[1] ?? ''), after))
    .flatMap((part) => part.split(/^(?=### )/m))
    .filter((section) => section.startsWith('### Upgrading\n'))
    .flatMap((section) => section.match(/^- .*(?:\n {2}.*)*/gm) ?? [])
}

/** Returns the three numbers of a version; null if the text is not a version, such as "Unreleased". */
function versionIn(text: string): number[] | null {
  const [, ...numbers] = /^v?(\d+)\.(\d+)\.(\d+)$/.exec(text) ?? []
  return numbers.length === 3 ? numbers.map(Number) : null
}

/** Null stands for unreleased changes, which are later than all versions. */
function isLater(version: readonly number[] | null, than: readonly number[]): boolean {
  if (version === null) return true
  const at = version.findIndex((number, index) => number !== than[index])
  return at >= 0 && (version[at] ?? 0) > (than[at] ?? -1)
}
