import { randomInt } from 'node:crypto'

/** Digits survive both alphabets of a bank's form; the last two are the check digits of ISO 7064 (mod 97-10). */
const PATTERN = /(?<!\d)\d{4}[ -]?\d{4}[ -]?\d{4}(?!\d)/g

/** Creates a reference such as 4821-0937-5557. */
export function newReference(): string {
  return withCheck(String(randomInt(1e10)).padStart(10, '0'))
}

/** Completes ten digits with their check digits, in groups of four. */
export function withCheck(digits: string): string {
  const check = String(98 - ((Number(digits) * 100) % 97)).padStart(2, '0')
  return `${digits}${check}`.replace(/(\d{4})(?=\d)/g, '$1-')
}

/**
 * Finds the references in a text that a customer wrote.
 * @returns each once, in groups of four; those whose check digits are wrong are left out
 */
export function referencesIn(text: string): string[] {
  const found = (text.match(PATTERN) ?? []).map((given) => given.replace(/\D/g, ''))
  return [...new Set(found.filter((digits) => Number(digits) % 97 === 1))].map((digits) =>
    digits.replace(/(\d{4})(?=\d)/g, '$1-'),
  )
}
