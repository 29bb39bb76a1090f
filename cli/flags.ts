import { type Command, InvalidArgumentError } from 'commander'
import type { Session } from './session.ts'

/** What an option takes that is a number. @throws InvalidArgumentError, which commander tells with the option's name */
export function wholeNumber(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It must be a whole number.')
}

/** An option that is said once for each of several; one that takes several at once would swallow the arguments. */
export const repeated = (value: string, before: string[] = []): string[] => [...before, value]

/** The same for an option that takes only these. @throws InvalidArgumentError */
export const repeatedOf = (choices: string[]) => (value: string, before?: string[]) => {
  if (choices.includes(value)) return repeated(value, before)
  throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
}

export type Labels = Record<string, string>

/** Collects --label name=value, which may be repeated. @throws InvalidArgumentError */
export function addLabel(text: string, labels: Labels = {}): Labels {
  const [, name, value] = /^([^=]+)=(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Labels are name=value.')
  // Unlike an assignment, this makes a label of "__proto__" too.
  return Object.fromEntries([...Object.entries(labels), [name, value]])
}

export interface LimitOptions {
  limit: number
}

/** Adds --limit to a command that lists what only grows. */
export function addLimitOption(command: Command): Command {
  return command.option('--limit <n>', 'how many to show; 0 is all', wholeNumber, 50)
}

/** The first of them; says so where there are more. */
export async function* upTo<Item>(
  { note }: Session,
  { limit }: LimitOptions,
  items: AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
  let count = 0
  for await (const item of items) {
    if (limit > 0 && count === limit) return note(`There are more than ${limit}; --limit 0 shows all.`)
    yield item
    count += 1
  }
}
