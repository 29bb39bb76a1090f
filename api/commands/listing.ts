import { type Command, Option } from 'commander'
import { ConfigError } from '../config.ts'
import type { Page } from '../database/page.ts'

/** The most objects of the same name that a message lists. */
export const NAMED = 20

/** Adds the options that a command for a long list has. */
export function paged(command: Command, things: string): Command {
  return command
    .addOption(wholeNumber('--limit <number>', `number of ${things}`, 1).default(100))
    .addOption(wholeNumber('--offset <number>', `number of ${things} to leave out first`, 0).default(0))
}

/** Reports how to list the rest, if there is more. */
export function printMore({ offset }: Page, shown: number, total: number, things: string): void {
  const next = offset + shown
  if (next < total) console.error(`${total} ${things}. List more with: --offset ${next}`)
}

export function wholeNumber(flag: string, about: string, least: number): Option {
  return new Option(flag, about).argParser((text) => {
    if (/^\d{1,6}$/.test(text) && Number(text) >= least) return Number(text)
    throw new ConfigError(`${flag.split(' ')[0]} is "${text}": it must be a whole number from ${least}.`)
  })
}
