/** Quotes a text of a customer for CSV. One that spreadsheets would carry out as a formula gets an apostrophe. */
export function csvField(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
