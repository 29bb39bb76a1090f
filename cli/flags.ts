import { type Command, InvalidArgumentError } from 'commander'
import type { Session } from './session.ts'

/** @throws InvalidArgumentError, which commander prints with the option's name */
export function wholeNumber(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It must be a whole number.')
}

/** For a repeatable option; a variadic one would swallow the arguments. */
export const repeated = (value: string, before: string[] = []): string[] => [...before, value]

/** For a repeatable option with fixed choices. @throws InvalidArgumentError */
export const repeatedOf = (choices: string[]) => (value: string, before?: string[]) => {
  if (choices.includes(value)) return repeated(value, before)
  throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
}

export interface LimitOptions {
  limit: number
}

/** Adds --limit to a command whose list only grows. */
export function addLimitOption(command: Command): Command {
  return command.option('--limit <n>', 'number of items to show; 0 for all', wholeNumber, 50)
}

/** The first items, with a note if there are more. */
export async function* upTo<Item>(
  { note }: Session,
  { limit }: LimitOptions,
  items: Iterable<Item> | AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
  let count = 0
  for await (const item of items) {
    if (limit > 0 && count === limit) return note(`Showing the first ${limit}; use --limit 0 to show all.`)
    yield item
    count += 1
  }
}
