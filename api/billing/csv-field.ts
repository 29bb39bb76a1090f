/** A spreadsheet reads a formula at the beginning of a text, and after a semicolon if it splits lines there. */
const FORMULAS = /(^|[;\t\r\n])(?=["\s]*[=+\-@])/g

/** Quotes a customer's text for CSV. A text that spreadsheets would evaluate as a formula gets an apostrophe in front. */
export function csvField(text: string): string {
  const inert = text.replace(FORMULAS, "$1'")
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
