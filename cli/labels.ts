import { type Command, InvalidArgumentError } from 'commander'
import { repeated } from './flags.ts'

export type Labels = Record<string, string>

/** Collects --label name=value, which may be repeated. @throws InvalidArgumentError */
export function addLabel(text: string, labels: Labels = {}): Labels {
  const [, name, value] = /^([^=]+)=(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('It must look like name=value.')
  // Unlike an assignment, this also works for the label "__proto__".
  return Object.fromEntries([...Object.entries(labels), [name, value]])
}

/** Adds --label to a command that creates something. */
export function withLabels(command: Command): Command {
  return command.option('--label <name=value>', 'label (repeatable)', addLabel)
}

export interface LabelChanges {
  label?: Labels
  removeLabel?: string[]
}

/** Adds --label and --remove-label to a command that changes something. */
export function withLabelChanges(command: Command): Command {
  return command
    .option('--label <name=value>', 'label to set, keeping the others (repeatable)', addLabel)
    .option('--remove-label <name>', 'label to remove (repeatable)', repeated)
}

/** The labels after a change, which the API takes whole; empty if there is no change. */
export function labelsAfter(
  { labels }: { labels: Labels },
  { label, removeLabel }: LabelChanges,
): { labels?: Labels } {
  if (!label && !removeLabel) return {}
  const kept = Object.entries(labels).filter(([name]) => !removeLabel?.includes(name))
  return { labels: Object.fromEntries([...kept, ...Object.entries(label ?? {})]) }
}

/** Adds --label to a list. @param many the listed things, such as volumes */
export function withLabelFilter(command: Command, many: string): Command {
  const example = 'such as env=prod,tier!=web,has,!lacks or env in (prod,test)'
  return command.option('--label <selector>', `only ${many} with these labels, ${example}`)
}

/** Such as "env=prod,tier=web". */
export const labelText = ({ labels }: { labels: Labels }): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
