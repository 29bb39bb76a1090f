import { isoTime } from '../../http/contract/fields.ts'
import { formatMoney } from '../../money.ts'
import { hoursOf } from '../view.ts'
import type { BookedSum, ItemSum, Movement, TypeSum } from './movement.ts'
import type { DocumentContent } from './schema.ts'

type Project = DocumentContent['projects'][number]
type MoreItems = Project['more_items'][number]

export interface Names {
  /** The last names of items, and the names of projects, by id. */
  items: ReadonlyMap<string, string>
  projects: ReadonlyMap<string, string>
}

/** The lines of a document, by project, and its other entries. */
export function linesOf(
  movement: Movement,
  names: Names,
): Pick<DocumentContent, 'projects' | 'entries' | 'more_entries'> {
  const ids = [...new Set(movement.types.map(({ project_id }) => project_id))]
  return {
    projects: ids.map((id) => projectOf(id, movement, names)).sort(byName),
    entries: movement.booked.map(({ type, description, amount, created_at }) => ({
      ...{ type, description, amount_rub: formatMoney(amount), created_at: isoTime(created_at) },
    })),
    more_entries: moreEntries(movement),
  }
}

function projectOf(projectId: string | null, movement: Movement, names: Names): Project {
  const types = movement.types.filter(({ project_id }) => project_id === projectId)
  const items = movement.items.filter(({ project_id }) => project_id === projectId)
  return {
    project_id: projectId,
    name: names.projects.get(projectId ?? '') ?? null,
    amount_rub: formatMoney(sumOf(types)),
    items: items
      .map(({ item_type, item_id, seconds, amount, traffic_amount }) => ({
        ...{ item_type, item_id, name: names.items.get(item_id) ?? item_id },
        hours: Number(hoursOf(seconds)),
        amount_rub: formatMoney(amount),
        traffic_amount_rub: formatMoney(traffic_amount),
      }))
      .sort(byName),
    more_items: types.flatMap((all) => moreItems(all, items)),
  }
}

function moreItems(all: TypeSum, items: readonly ItemSum[]): MoreItems[] {
  const shown = items.filter(({ item_type }) => item_type === all.item_type)
  if (shown.length === all.items) return []
  const seconds = shown.reduce((rest, one) => rest - one.seconds, all.seconds)
  return [
    {
      item_type: all.item_type,
      items: all.items - shown.length,
      hours: Number(hoursOf(seconds)),
      amount_rub: formatMoney(all.amount - sumOf(shown)),
    },
  ]
}

function moreEntries({ booked, sums }: Movement): DocumentContent['more_entries'] {
  const left = ({ type, entries, amount }: BookedSum) => {
    const shown = booked.filter((entry) => entry.type === type)
    return { type, entries: entries - shown.length, amount_rub: formatMoney(amount - sumOf(shown)) }
  }
  return sums.map(left).filter(({ entries }) => entries > 0)
}

export function sumOf(rows: readonly { amount: number }[]): number {
  return rows.reduce((sum, { amount }) => sum + amount, 0)
}

/** Sorts by code units: the order does not depend on the locales of the machine. */
function byName(a: { name: string | null }, b: { name: string | null }): number {
  const [left, right] = [a.name ?? '', b.name ?? '']
  if (left === right) return 0
  return left < right ? -1 : 1
}
