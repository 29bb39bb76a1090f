let isJson = false

/** Makes all commands print JSON instead of tables. */
export function printJson(): void {
  isJson = true
}

/** Returns true if commands print JSON. */
export const printsJson = () => isJson

export function printTable(head: string[], rows: string[][]): void {
  if (isJson) {
    const names = head.map(fieldOf)
    const objects = rows.map((row) => Object.fromEntries(names.map((name, at) => [name, contentOf(row[at])])))
    console.log(JSON.stringify(objects, null, 2))
    return
  }
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)))
  for (const row of [head, ...rows])
    console.log(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

/** Prints the fields of one object, a line each. */
export function printFields(fields: readonly (readonly [name: string, value: string])[]): void {
  if (isJson) {
    const object = Object.fromEntries(fields.map(([name, value]) => [fieldOf(name), contentOf(value)]))
    console.log(JSON.stringify(object, null, 2))
    return
  }
  const width = Math.max(...fields.map(([name]) => name.length)) + 2
  for (const [name, value] of fields) console.log(`${`${name}:`.padEnd(width)}${value}`.trimEnd())
}

/** Prints an error for programs, in the form of the customers' command line. */
export function printError(message: string, code: number): void {
  console.error(JSON.stringify({ error: { message, exit_code: code } }))
}

/** Returns the field of a column: "E-MAIL" is email, and "LAST USED" is last_used. */
function fieldOf(title: string): string {
  return title.toLowerCase().replaceAll('-', '').replaceAll(' ', '_')
}

/** Programs get amounts without the currency, and null instead of an empty cell. */
function contentOf(cell = ''): string | null {
  return cell === '' ? null : cell.replace(/^(-?\d+\.\d+) RUB$/, '$1')
}
