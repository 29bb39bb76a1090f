import { globSync } from 'node:fs'
import path from 'node:path'
import { httpProblems, type ProblemType } from '../../api/http/contract/problem.ts'

const api = path.resolve(import.meta.dirname, '../../api')

/** Every type of problem that the service defines: its own, and those beside the schemas of its features. */
export const problems: ProblemType[] = Object.values(httpProblems)
for (const file of globSync('**/schema.ts', { cwd: api })) {
  const module: Record<string, Record<string, ProblemType>> = await import(path.join(api, file))
  for (const [name, table] of Object.entries(module))
    if (name.endsWith('Problems')) problems.push(...Object.values(table))
}
