import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { programOf } from '../../cli/program.ts'

const folder = path.join(import.meta.dirname, 'golden')

/** Parts of the golden sessions: the typed line, and whether the command succeeded. */
const shown = readdirSync(folder)
  .flatMap((file) => readFileSync(path.join(folder, file), 'utf8').split(/^(?=\$ berth )/m))
  .map((text) => ({
    line: text.split('\n', 1)[0]?.slice('$ berth '.length) ?? '',
    isOk: !/^\[exit \d+\]$/m.test(text),
  }))

/** All executable commands, as they are typed. */
function linesOf(command: Command, before = ''): string[] {
  const parts = command.createHelp().visibleCommands(command)
  const own = parts.filter((part) => command.commands.includes(part))
  if (own.length === 0) return [before.trim()]
  return own.flatMap((part) => linesOf(part, `${before} ${part.name()}`))
}

const { env, stdin, stdout, stderr } = process
const commands = linesOf(programOf({ env, stdin, stdout, stderr, on: () => {}, off: () => {} }))

/** Commands that no session shows; those in `but` are exempt, and an exemption that is not needed fails the test. */
function without(is: (seen: { line: string; isOk: boolean }) => boolean, but: string[]): string[] {
  const lacks = (command: string) =>
    !shown.some((seen) => `${seen.line} `.startsWith(`${command} `) && is(seen))
  return commands.filter((command) => lacks(command) !== but.includes(command))
}

// These commands read input or files, or run ssh, which sessions can't show. Tests of their own cover them.
const others = ['image upload', 'iso upload', 'login', 'server ssh', 'server console']
// These commands print nothing, or no reply of the API.
const silent = [
  'account auto-top-up delete',
  'address delete',
  'logout',
  'context use',
  'completion',
  'network delete',
  'firewall delete',
  'snapshot delete',
  'image delete',
  'iso delete',
  'backup delete',
  'firewall detach',
  'ssh-key delete',
  'token delete',
  'webhook delete',
]

test('the sessions show each command with its output, its JSON, and an error', () => {
  expect({
    atWork: without(({ isOk }) => isOk, others),
    asJson: without(({ line, isOk }) => isOk && line.includes('-o json'), [...others, ...silent]),
    refused: without(({ isOk }) => !isOk, []),
  }).toEqual({ atWork: [], asJson: [], refused: [] })
})
