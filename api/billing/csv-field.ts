/** Quotes a customer's text for CSV. A text that spreadsheets would evaluate as a formula gets an apostrophe in front. */
export function csvField(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
