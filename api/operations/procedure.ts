import type { Queries } from '../database/database.ts'
import type { OperationTable } from './tables.ts'

/**
 * An operation in the hands of its procedure. `Data` has the parameters of the request, and values that steps pass to
 * later ones.
 */
export type Operation<Data> = Omit<OperationTable, 'data'> & { data: Data }
export type Outcome = { status: 'succeeded' } | { status: 'failed'; code: string; message: string }

/**
 * The result of a step. A step is short and safe to run twice: after a crash at any moment it may run again from its
 * beginning, even if a later step of the same operation had begun.
 */
export type StepResult<Kept> =
  | { kind: 'next'; step: string; progress: number; data: Kept }
  | { kind: 'again'; afterMs: number; progress?: number }
  | { kind: 'done'; data: Kept }
  | { kind: 'fail'; code: string; message: string }

/** Continue with another step; `data` is kept for later ones. */
export const next = <Kept = undefined>(
  step: string,
  progress: number,
  data?: Kept,
): StepResult<Kept | undefined> => ({ kind: 'next', step, progress, data })
/** Run this step again after a while. */
export const again = (afterMs: number, progress?: number): StepResult<never> =>
  progress === undefined ? { kind: 'again', afterMs } : { kind: 'again', afterMs, progress }
/** The operation succeeded; `data` is for its conclusion. */
export const done = <Kept = undefined>(data?: Kept): StepResult<Kept | undefined> => ({ kind: 'done', data })
/** The operation failed. @param message is for the customer: what happened, and what to do */
export const fail = (code: string, message: string): StepResult<never> => ({ kind: 'fail', code, message })

export type Step<Data, Subject = undefined> = (
  operation: Operation<Data>,
  signal: AbortSignal,
  subject: Subject,
) => Promise<StepResult<Partial<Data> | undefined>>

/** Carries out operations of one type. */
export interface Procedure<Data, Subject = undefined> {
  steps: Readonly<Record<string, Step<Data, Subject>>>
  /** Reads the subject, once for all steps that follow each other without a pause. */
  read?: (operation: OperationTable) => Promise<Subject>
  /** True if the writes of a success concern nothing but the subject, so that several may share a transaction. */
  sharesEnds?: boolean
  /**
   * True if it is carried out until it is done: it has no deadline, and a step that fails is tried again for as long as
   * it takes.
   */
  endsDone?: boolean
  /**
   * Called once the outcome is known: inspects the machine, then returns the changes to write. The write shares the
   * transaction that ends the operation, so that both happen or neither.
   */
  conclude(
    operation: Operation<Data>,
    outcome: Outcome,
    subject: Subject,
  ): Promise<(tx: Queries) => Promise<void>>
}

/** A procedure as the engine runs it: only the procedure itself knows the contents of the row's data. */
export interface Runner {
  /** The names of its steps. */
  steps: readonly string[]
  sharesEnds?: boolean
  endsDone?: boolean
  /** Runs the step that the row is at. @returns the data whole, as JSON */
  run(row: OperationTable, signal: AbortSignal): Promise<StepResult<string>>
  conclude(row: OperationTable, outcome: Outcome): Promise<(tx: Queries) => Promise<void>>
}

/** The procedures that features hand to the engine, by the type of the subject and then by that of the operation. */
export type Procedures = Readonly<Record<string, Readonly<Record<string, Runner>>>>

/** The names of all steps, as stored in the table of operations. */
export function stepNames(procedures: Procedures): string[] {
  return Object.entries(procedures).flatMap(([subject, types]) =>
    Object.entries(types).flatMap(([type, { steps }]) => steps.map((step) => `${subject}.${type}.${step}`)),
  )
}

/**
 * Returns the data that an operation keeps. It is trusted to be a `Data` and not checked: only insertOperation and
 * the steps of the procedure write it, and the compiler holds these to that type.
 */
export function dataOf<Data>(row: Pick<OperationTable, 'data'>): Data {
  return JSON.parse(row.data) as Data // see above
}

export function runner<Data extends object, Subject = undefined>({
  steps,
  read = async () => undefined as Subject, // a procedure whose steps need their subject reads it
  conclude,
  sharesEnds = false,
  endsDone = false,
}: Procedure<Data, Subject>): Runner {
  const open = (row: OperationTable): Operation<Data> => ({ ...row, data: dataOf<Data>(row) })
  // The engine claims a row anew after each pause, so that this never outlives the steps of one run.
  const subjects = new WeakMap<OperationTable, Subject>()
  const subjectOf = async (row: OperationTable) => {
    const subject = subjects.get(row) ?? (await read(row))
    subjects.set(row, subject)
    return subject
  }
  return {
    steps: Object.keys(steps),
    sharesEnds,
    endsDone,
    run: async (row, signal) => {
      const step = steps[row.step]
      if (!step) throw new Error(`no such step: "${row.step}"`)
      const operation = open(row)
      const result = await step(operation, signal, await subjectOf(row))
      if (result.kind === 'again' || result.kind === 'fail') return result
      return { ...result, data: JSON.stringify({ ...operation.data, ...result.data }) }
    },
    conclude: async (row, outcome) => conclude(open(row), outcome, await subjectOf(row)),
  }
}
