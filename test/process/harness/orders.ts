/** Messages between the test and the service under test. */

export const PORTS = { first: 22000, last: 22999 }

export interface StepName {
  type: string
  step: string
}

export interface Death extends StepName {
  moment: 'before' | 'after' | 'saved'
}

export interface Play {
  scenario: string
  death: Death
}

export interface Order {
  /** The interval at which steps are saved by themselves (default: that of the service). */
  saveEveryMs?: number
  /** The folder of the database and the machines. Work that an earlier process left there is finished first. */
  folder: string
  /** Plays that then run side by side: each operation is held at its death, and the process ends with the last. */
  plays?: readonly Play[]
  /** The load that then creates, stops and deletes servers; with `dieAt`, the process ends at that moment of it. */
  load?: { seed: number; dieAt: number | null }
  /** The URL of a local file that images are fetched from. */
  fileUrl?: string
  /** Then uploads a file in parts and makes it an image, from where an earlier process was; ends at that moment. */
  upload?: { dieAt: number }
  /** True to then play every scenario, and report its steps and all steps of the program. */
  trace?: boolean
}

/** One line of the output of the service under test. */
export interface Finding {
  /** Type, status and error of all operations, once the work left over has ended. */
  settled?: [type: string, status: string, error: string][]
  /** Deaths that their operations never reached. */
  missed?: Death[]
  /** Broken promises, as sentences. */
  broken?: string[]
  /** The steps that a scenario ran. */
  walk?: { scenario: string; steps: StepName[] }
  /** The steps that the program has. */
  steps?: StepName[]
  loading?: boolean
  ended?: boolean
}
