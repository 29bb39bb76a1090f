import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { programOf } from './program.ts'

/** Where the page is, in the checkout. */
export const page = path.resolve(import.meta.dirname, '../docs/cli.md')

/** The manual page with the --help of every command; the text before the marker is written by hand. */
export function documentation(byHand: string): string {
  const program = programOf({
    env: {},
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    on: () => {},
    off: () => {},
  })
  const [before = ''] = byHand.split(MARKER)
  return `${before}${MARKER}\n\n${sections(program, 'berth').join('\n')}`
}

const MARKER = '<!-- From here on written by npm run generate. -->'

/** A section for each command that does something, in the order of --help. */
function sections(command: Command, name: string): string[] {
  const helper = Object.assign(command.createHelp(), { helpWidth: 100, showGlobalOptions: false })
  const help = command.createHelp().formatHelp(command, helper)
  const own = `## ${name}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`
  const parts = helper.visibleCommands(command).filter((part) => command.commands.includes(part))
  return [own, ...parts.flatMap((part) => sections(part, `${name} ${part.name()}`))]
}

if (import.meta.main) writeFileSync(page, documentation(readFileSync(page, 'utf8')))
