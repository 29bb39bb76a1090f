import { readFile, stat } from 'node:fs/promises'
import { Command } from 'commander'
import { systemClock as clock } from '../clock.ts'
import { CommandError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { ApiError } from '../http/contract/problem.ts'
import { type Line, MOST_BYTES, readStatement, StatementError } from '../transfers/statement.ts'
import { bookArrival, transferView } from '../transfers/transfers.ts'
import { type ReadConfig, withDatabase } from './operator.ts'
import { printTable } from './print.ts'

interface Given {
  id: string[]
  amount: string
  purpose: string
  currency?: string
  dryRun?: true
}

/** The column of the result in the table. */
const RESULT = 4

export function bankCommands(config: ReadConfig): Command {
  const bank = new Command('bank').description('book money that arrived by bank transfer')
  bank
    .command('import')
    .description("book the transfers of a bank's CSV file, each once; run it again as often as you like")
    .argument('<file>', 'CSV with a line of names, divided by commas or semicolons, in UTF-8')
    .requiredOption(
      '--id <column...>',
      "column with the bank's id of the transaction, or the columns that tell it from all others, such as date, number and the payer's account",
    )
    .requiredOption('--amount <column>', 'column with the sum that arrived')
    .requiredOption('--purpose <column>', 'column with the purpose, which states the reference')
    .option('--currency <column>', 'column with the currency; only rubles are booked')
    .option('--dry-run', 'book nothing, and print the same table')
    .action(async (file: string, { dryRun, ...columns }: Given) => {
      const lines = await linesOf(file, columns)
      await withDatabase(config(), 'bank import', async (db) => {
        const rows: string[][] = []
        // A trial books nothing, so it must remember the lines that it would have booked.
        const tried = new Set<string>()
        for (const line of lines) {
          const row = await rowOf(db, line, dryRun === true)
          const isRepeat = tried.has(line.id) && row[RESULT] === 'booked'
          if (dryRun && row[RESULT] === 'booked') tried.add(line.id)
          rows.push(isRepeat ? row.with(RESULT, 'already booked') : row)
        }
        printTable(['LINE', 'TRANSACTION', 'AMOUNT', 'REFERENCE', 'RESULT', 'NOTE'], rows)
      })
    })
  return bank
}

async function linesOf(file: string, columns: Omit<Given, 'dryRun'>): Promise<Line[]> {
  try {
    if ((await stat(file)).size > MOST_BYTES)
      throw new StatementError(`A statement has at most ${MOST_BYTES / 2 ** 20} MB. Divide it.`)
    return readStatement(await readFile(file, 'utf8'), columns)
  } catch (error) {
    if (error instanceof StatementError) throw new CommandError(`${file}: ${error.message}`)
    throw error
  }
}

/** Books a line, and describes it for the table. The customer's own text is not printed. */
async function rowOf(db: Database, line: Line, isTrial: boolean): Promise<string[]> {
  const known = [String(line.line), line.id.replace(/[^\w./-]/g, '?'), line.amount.replace(/[^\d.,-]/g, '?')]
  const { reference } = line
  if (reference === undefined) return [...known, '', 'unmatched', line.reason]
  const arrival = { reference, amount_rub: line.amount, bank_transaction_id: line.id }
  try {
    const { row, isNew } = await bookArrival({ db, clock, isTrial }, arrival)
    const { amount_rub } = transferView(row, clock.now())
    const notes = [
      ...(amount_rub === line.amount ? [] : [`the invoice is over ${amount_rub}`]),
      ...(row.expires_at <= clock.now() ? ['the invoice has expired'] : []),
    ]
    return [...known, reference, isNew ? 'booked' : 'already booked', notes.join(', ')]
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [...known, reference, 'unmatched', error.message]
  }
}
