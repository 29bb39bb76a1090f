const ASKED_AT_ONCE = 2_000

/** Reads the rows of some ids at a time, because databases limit the number of parameters. */
export async function inParts<Row>(
  ids: readonly string[],
  read: (some: readonly string[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (let at = 0; at < ids.length; at += ASKED_AT_ONCE)
    rows.push(...(await read(ids.slice(at, at + ASKED_AT_ONCE))))
  return rows
}
