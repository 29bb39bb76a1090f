import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type pg from 'pg'

/** Makes PostgreSQL record each change of a row in the same transaction. */
export const RECORD = `
  CREATE UNLOGGED TABLE mirrored (at bigserial, name text, old json, new json);
  CREATE FUNCTION mirror() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO mirrored (name, old, new) VALUES (TG_TABLE_NAME, to_json(OLD), to_json(NEW));
    RETURN NULL;
  END $$;
  DO $$ DECLARE t text; BEGIN
    FOR t IN SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'
      AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'samples%' AND table_name NOT IN ('mirrored')
    LOOP EXECUTE format('CREATE TRIGGER mirror AFTER INSERT OR UPDATE OR DELETE ON %I
      FOR EACH ROW EXECUTE FUNCTION mirror()', t);
    END LOOP;
  END $$`

type Row = Record<string, string | number | null>

interface Change {
  at: string
  name: string
  old: Row | null
  new: Row | null
}

interface Table {
  columns: readonly string[]
  keys: readonly string[]
  insert: StatementSync
  update: StatementSync
  remove: StatementSync
}

/** Mirrors the committed rows of PostgreSQL in a SQLite file, on which the promises are checked. */
export class Mirror {
  readonly #from: pg.Client
  readonly #sqlite: DatabaseSync
  readonly #tables = new Map<string, Table>()

  constructor(from: pg.Client, file: string) {
    this.#from = from
    this.#sqlite = new DatabaseSync(file)
    this.#sqlite.exec('PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF')
  }

  /** Replaces the contents with all current rows. */
  async fill(): Promise<void> {
    const { rows } = await this.#from.query<{ name: string }>(
      `SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgname = 'mirror' ORDER BY 1`,
    )
    for (const { name } of rows) {
      this.#sqlite.exec(`DELETE FROM "${name}"`)
      const found = await this.#from.query<{ new: Row }>(`SELECT to_json(t) AS new FROM "${name}" t`)
      for (const row of found.rows) this.#apply({ at: '', name, old: null, new: row.new })
    }
  }

  /** Applies the changes committed since the last call. @returns the changed tables */
  async follow(): Promise<Set<string>> {
    const { rows } = await this.#from.query<Change>('DELETE FROM mirrored RETURNING *')
    if (rows.length === 0) return new Set()
    this.#sqlite.exec('BEGIN')
    for (const change of rows.sort((a, b) => Number(a.at) - Number(b.at))) this.#apply(change)
    this.#sqlite.exec('COMMIT')
    return new Set(rows.map(({ name }) => name))
  }

  close(): void {
    this.#sqlite.close()
  }

  #apply({ name, old, new: next }: Change): void {
    const { columns, keys, insert, update, remove } = this.#table(name)
    const of = (row: Row, names: readonly string[]) => names.map((column) => row[column] ?? null)
    const { changes } = !next
      ? remove.run(...of(old as Row, keys)) // a change has one of them
      : old
        ? update.run(...of(next, columns), ...of(old, keys))
        : insert.run(...of(next, columns))
    if (changes !== 1) throw new Error(`the mirror of ${name} changed ${changes} rows in place of one`)
  }

  #table(name: string): Table {
    const known = this.#tables.get(name)
    if (known) return known
    const all = this.#sqlite.prepare(`PRAGMA table_info("${name}")`).all() as { name: string; pk: number }[] // its columns
    const columns = all.map((column) => column.name)
    const primary = all.filter(({ pk }) => pk > 0).map((column) => column.name)
    const keys = primary.length > 0 ? primary : columns
    const where = keys.map((key) => `"${key}" IS ?`).join(' AND ')
    const table = {
      ...{ columns, keys },
      insert: this.#sqlite.prepare(`INSERT INTO "${name}" VALUES (${columns.map(() => '?').join(', ')})`),
      update: this.#sqlite.prepare(
        `UPDATE "${name}" SET ${columns.map((column) => `"${column}" = ?`).join(', ')} WHERE ${where}`,
      ),
      remove: this.#sqlite.prepare(`DELETE FROM "${name}" WHERE ${where}`),
    }
    this.#tables.set(name, table)
    return table
  }
}
