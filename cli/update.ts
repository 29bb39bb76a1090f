import type { Berth } from '@berth/sdk'
import { Command } from 'commander'
import { nothingToChange } from './errors.ts'
import { find, type Kind } from './find.ts'
import { type LabelChanges, type Labels, labelsAfter, withLabelChanges } from './labels.ts'
import { action, type Session } from './session.ts'

interface Change {
  name?: string
  labels?: Labels
}

/** A command that changes the name and the labels of an object, and shows it. */
export function updateCommand<Item extends { labels: Labels }>(
  kind: Kind<Item>,
  description: string,
  update: (berth: Berth, id: string, change: Change) => Promise<Item>,
  show: (session: Session, item: Item) => Promise<void>,
): Command {
  return withLabelChanges(
    new Command('update')
      .description(description)
      .argument(`<${kind.noun}>`, 'name or id')
      .option('--name <name>', 'new name'),
  ).action(
    action(async (session, given: string, options: { name?: string } & LabelChanges) => {
      const { berth } = session
      if (Object.keys(options).length === 0) throw nothingToChange(kind.noun)
      const before = await find(berth, kind, given)
      const name = options.name === undefined ? {} : { name: options.name }
      await show(session, await update(berth, kind.id(before), { ...name, ...labelsAfter(before, options) }))
    }),
  )
}
