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
  /** How seldom steps are written down by themselves; by default as the service does. */
  saveEveryMs?: number
  /** Holds the database and the machines. What an earlier process left there is finished first. */
  folder: string
  /** Then these are played side by side: each operation is held at its death, and the process ends with the last. */
  plays?: readonly Play[]
  /** Then many servers are made, stopped and deleted; with `dieAt`, the process ends at that moment of them. */
  load?: { seed: number; dieAt: number | null }
  /** A file on the loopback that images are fetched from. */
  fileUrl?: string
  /** Then a file is uploaded in parts and made an image, from where an earlier process was; it ends at that moment. */
  upload?: { dieAt: number }
  /** Then every scenario is played, and its walk is told; and which steps there are. */
  trace?: boolean
}

/** One line of what the service under test says. */
export interface Finding {
  /** Type, status and error of all operations, once what was left over has ended. */
  settled?: [type: string, status: string, error: string][]
  /** Deaths that their operations never came to. */
  missed?: Death[]
  /** Sentences: which promises are broken. */
  broken?: string[]
  /** The steps that a scenario walked through. */
  walk?: { scenario: string; steps: StepName[] }
  /** The steps that the program has. */
  steps?: StepName[]
  loading?: boolean
  ended?: boolean
}
