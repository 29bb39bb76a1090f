import { allProblems } from '../../api/commands/reference.ts'

/** Every type of problem that the service defines. */
export const problems = await allProblems()
