import type { Berth } from '@berth/sdk'
import { Command } from 'commander'
import { idOf, type Noun } from './find.ts'
import { action } from './session.ts'

/** A command that deletes at once, without asking, what can be made again. */
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

/** What is said of a thing that is gone: the API replies with nothing. */
export const deleted = (noun: Noun, name: string): string =>
  `The ${noun.replace('-', ' ')} ${name} is deleted.`
