import type { Berth } from '@berth/sdk'
import { Command } from 'commander'
import { idOf, type Kind, titleOf } from './find.ts'
import { action } from './session.ts'

/** A command that deletes without confirmation, for objects that are easily created again. */
export function deleteCommand<Item>(
  kind: Kind<Item>,
  description: string,
  remove: (berth: Berth, id: string) => Promise<void>,
): Command {
  return new Command('delete')
    .description(description)
    .argument(`<${kind.noun}>`, 'name or id')
    .action(
      action(async ({ berth, note }, given: string) => {
        await remove(berth, await idOf(berth, kind, given))
        note(deleted(kind, given))
      }),
    )
}

/** The message after a deletion. */
export const deleted = (kind: { noun: string }, name: string): string => `Deleted ${titleOf(kind)} ${name}.`
