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
      const known = new Set(notesOf(earlierText(from)))
      const notes = notesOf(readFileSync(path.join(ROOT, 'CHANGELOG.md'), 'utf8'))
      const added = notes.filter((note) => !known.has(note))
      console.log(added.length > 0 ? added.join('\n') : `Nothing: the upgrade from ${from} needs no step.`)
    })
}

/** The changelog as it was at that version or commit. @throws ConfigError */
function earlierText(from: string): string {
  for (const name of [`v${from.replace(/^v/, '')}`, from])
    if (/^[\w.]+$/.test(name))
      try {
        const git = ['-C', ROOT, 'show', `${name}:CHANGELOG.md`]
        return execFileSync('git', git, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      } catch {
        // It is not a name of this kind, or the commit is from before there was a changelog.
      }
  throw new ConfigError(
    `No such version or commit with a CHANGELOG.md in ${ROOT}: ${from}. List them: git tag`,
  )
}

/** The entries below each heading "Upgrading". */
export function notesOf(changelog: string): string[] {
  return changelog
    .split(/^(?=##+ )/m)
    .filter((section) => section.startsWith('### Upgrading\n'))
    .flatMap((section) => section.match(/^- .*(?:\n {2}.*)*/gm) ?? [])
}
