import type { Berth } from '@berth/sdk'
import { Command } from 'commander'
import { idOf, type Noun, titleOf } from './find.ts'
import { action } from './session.ts'

/** A command that deletes without confirmation, for objects that are easily created again. */
export function deleteCommand(
  noun: Noun,
  description: string,
  remove: (berth: Berth, id: string) => Promise<void>,
): Command {
  return new Command('delete')
    .description(description)
    .argument(`<${noun}>`, 'name or id')
    .action(
      action(async ({ berth, note }, given: string) => {
        await remove(berth, await idOf(berth, noun, given))
        note(deleted(noun, given))
      }),
    )
}

/** The message after a deletion. */
export const deleted = (noun: Noun, name: string): string => `Deleted ${titleOf(noun)} ${name}.`
