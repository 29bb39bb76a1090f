import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { folder, run } from './berthd.ts'
import { ROOT } from './child.ts'

/** A migration that changes tables in use, in an order that would deadlock with their users. */
const MIGRATION = `import { sql } from 'kysely'
export async function up(db) {
  for (const statement of [
    'ALTER TABLE events ADD COLUMN later integer NOT NULL DEFAULT 0',
    'CREATE INDEX operations_later ON operations (started_at)',
    'ALTER TABLE servers ADD COLUMN later text',
    'ALTER TABLE accounts ADD COLUMN later bigint',
    'CREATE TABLE later (server_id text PRIMARY KEY REFERENCES servers ON DELETE CASCADE, note text NOT NULL)',
    "INSERT INTO later SELECT server_id, name FROM servers",
    "INSERT INTO duties (name) VALUES ('archiver')",
  ]) await sql.raw(statement).execute(db)
}
`

/**
 * Builds this version's program with one more migration, and one more duty.
 * @returns its main file
 */
export function nextVersion(): string {
  const tree = folder()
  for (const part of ['api', 'catalog.yaml', 'package.json'])
    cpSync(path.join(ROOT, part), path.join(tree, part), { recursive: true })
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(tree, 'node_modules'))
  writeFileSync(path.join(tree, 'api/database/migrations/9999-later.ts'), MIGRATION)
  change(path.join(tree, 'api/database/database.ts'), [
    [
      /(?<=^export const migrations[^}]*)^\}/m,
      "  '9999-later': () => import('./migrations/9999-later.ts'),\n}",
    ],
  ])
  change(path.join(tree, 'api/processes/peers.ts'), [[/(?<=^export const duties = \[)/m, "'archiver', "]])
  return path.join(tree, 'api/main.ts')
}

function change(file: string, changes: readonly (readonly [RegExp, string])[]): void {
  let text = readFileSync(file, 'utf8')
  for (const [place, more] of changes) {
    if (!place.test(text)) throw new Error(`${file} has no place for ${more}`)
    text = text.replace(place, more)
  }
  writeFileSync(file, text)
}

/**
 * The program as of an earlier commit, on the packages of this one. The clone must have the commit, and both the same
 * package-lock.json.
 * @returns its main file
 */
export function earlierVersion(commit: string): string {
  const tree = folder()
  const archive = path.join(folder(), 'tree.tar')
  execFileSync('git', ['archive', '--output', archive, commit], { cwd: ROOT })
  mkdirSync(tree, { recursive: true })
  execFileSync('tar', ['-xf', archive, '-C', tree])
  const locks = [tree, ROOT].map((place) => readFileSync(path.join(place, 'package-lock.json'), 'utf8'))
  if (locks[0] !== locks[1]) throw new Error(`${commit} has other packages: another package-lock.json`)
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(tree, 'node_modules'))
  return path.join(tree, 'api/main.ts')
}

/** Makes the tables and an account that has paid, as that version does it. @returns a token of the account */
export async function prepareBy(program: string, url: string, data: string): Promise<string> {
  const berthd = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args, { DATABASE_URL: url, BERTH_DATA: data }, program)
    if (code !== 0) throw new Error(`berthd ${args.join(' ')}: ${stderr}`)
    return stdout.trim()
  }
  const account = 'customer@example.com'
  await berthd('migrate')
  await berthd('account', 'create', account)
  await berthd('account', 'credit', account, '100000', '--reason', 'test')
  return berthd('token', 'create', account)
}
