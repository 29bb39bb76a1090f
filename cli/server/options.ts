import { InvalidArgumentError } from 'commander'

/** What an option's number is read with. @throws InvalidArgumentError where it is none */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}

export type Labels = Record<string, string>

/** Collects --label name=value, which may be repeated. @throws InvalidArgumentError */
export function addLabel(text: string, labels: Labels = {}): Labels {
  const [, name, value] = /^([^=]+)=(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Labels are name=value.')
  // Unlike an assignment, this makes a label of "__proto__" too.
  return Object.fromEntries([...Object.entries(labels), [name, value]])
}
