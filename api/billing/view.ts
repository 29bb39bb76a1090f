import { isoTime } from '../http/contract/fields.ts'
import { divideHalfUp, formatMoney, wholeTimes } from '../money.ts'
import { wholeHour } from './accrual.ts'
import { csvField } from './csv-field.ts'
import type { Transaction, Usage } from './schema.ts'
import type { ItemType, TransactionTable } from './tables.ts'
import type { MonthUsage } from './usage.ts'

export function transactionView(row: TransactionTable & { item_name: string | null }): Transaction {
  return {
    transaction_id: row.transaction_id,
    type: row.type,
    amount: formatMoney(row.amount),
    balance_after: formatMoney(row.balance_after),
    item_type: row.item_type,
    item_id: row.item_id,
    item_name: row.item_name,
    server_id: ifServer(row.item_type, row.item_id),
    hour: row.hour === null ? null : isoTime(wholeHour(row.first_hour ?? row.hour)),
    seconds: row.seconds,
    traffic_bytes: row.bytes,
    description: row.hour === null ? row.description : chargeDescription(row.hour, row),
    created_at: isoTime(row.created_at),
  }
}

/** Clients of earlier versions only know servers, so other items have null here. */
function ifServer(type: ItemType | null, value: string | null): string | null {
  return type === 'server' ? value : null
}

/** Usually "2026-11-20 13:00 UTC, 1 h". It is not stored, as each server has hundreds of charges a month. */
function chargeDescription(hour: number, { first_hour, seconds, bytes }: TransactionTable): string {
  const when = `${first_hour === null ? '' : `${minute(first_hour)} to `}${minute(hour)} UTC`
  if (bytes !== null) return `${when}, ${gigabytes(bytes)} GB of traffic`
  return `${when}, ${duration(seconds ?? 0)}`
}

function minute(at: number): string {
  return isoTime(wholeHour(at)).slice(0, 16).replace('T', ' ')
}

/** Rounds to whole MB. */
function gigabytes(bytes: number): string {
  const mb = divideHalfUp(bytes, 1_000_000)
  return `${wholeTimes(mb, 1000)}.${String(mb % 1000).padStart(3, '0')}`
}

function duration(seconds: number): string {
  const rest = seconds % 3600
  const parts = [
    [wholeTimes(seconds, 3600), 'h'],
    [wholeTimes(rest, 60), 'min'],
    [rest % 60, 's'],
  ].flatMap(([count, unit]) => (count ? [`${count} ${unit}`] : []))
  return parts.join(' ')
}

/** @param at any moment of the month */
export function usageView(
  { rows, amount, more }: MonthUsage,
  traffic: Usage['traffic'],
  { at, now }: { at: number; now: number },
): Usage {
  return {
    month: monthName(at),
    currency: 'RUB',
    amount: formatMoney(amount),
    items: rows.map(({ item_type, item_id, item_name, project_id, seconds, amount, traffic_amount }) => ({
      item_type,
      item_id,
      item_name,
      server_id: ifServer(item_type, item_id),
      server_name: ifServer(item_type, item_name),
      project_id,
      hours: Number(hoursOf(seconds)),
      amount: formatMoney(amount),
      traffic_amount: formatMoney(traffic_amount),
    })),
    more_items: more.items,
    more_amount: formatMoney(more.amount),
    traffic,
    generated_at: isoTime(now),
  }
}

/** Formats usage as CSV (RFC 4180). Names may have any characters, so they are quoted. */
export function usageCsv({ rows, more }: MonthUsage, at: number): string {
  const lines = rows.map(({ item_type, item_id, item_name, project_id, seconds, amount }) => {
    const server = [ifServer(item_type, item_id) ?? '', ifServer(item_type, item_name) ?? '']
    const sums = [project_id, hoursOf(seconds), formatMoney(amount)]
    return [monthName(at), item_type, item_id, csvField(item_name), ...server, ...sums].join(',')
  })
  const header = 'month,item_type,item_id,item_name,server_id,server_name,project_id,hours,amount_rub'
  const rest = [monthName(at), 'more_items', '', more.items, '', '', '', '', formatMoney(more.amount)].join(
    ',',
  )
  return [header, ...lines, ...(more.items === 0 ? [] : [rest]), ''].join('\r\n')
}

/** The month that a moment falls in, such as 2026-11. */
export function monthName(at: number): string {
  return isoTime(at).slice(0, 7)
}

/** Formats seconds as hours with four decimals, like money, whose formatter it uses. */
export function hoursOf(seconds: number): string {
  return formatMoney(divideHalfUp(seconds * 10_000, 3600), 4)
}
