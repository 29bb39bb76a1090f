import { expect, test } from 'vitest'
import { newReference, referencesIn, withCheck } from './reference.ts'

test('a reference is found in a text, however it is grouped', () => {
  const reference = newReference()
  expect(reference).toMatch(/^\d{4}-\d{4}-\d{4}$/)
  for (const given of [reference, reference.replaceAll('-', ' '), reference.replaceAll('-', '')])
    expect(referencesIn(`Оплата по счёту № ${given}. Без НДС; again ${given}`)).toEqual([reference])
})

test('a reference with a wrong digit, two swapped digits or more digits is not recognized', () => {
  const digits = withCheck('4821093755').replaceAll('-', '')
  for (let at = 0; at < digits.length; at++) {
    const other = (Number(digits[at]) + 1) % 10
    expect(referencesIn(`${digits.slice(0, at)}${other}${digits.slice(at + 1)}`)).toEqual([])
    const [left = '', right = ''] = [digits[at], digits[at + 1] ?? digits[at]]
    if (left !== right)
      expect(referencesIn(digits.slice(0, at) + right + left + digits.slice(at + 2))).toEqual([])
  }
  expect(referencesIn(`1${digits} ${digits}2`)).toEqual([])
})
