import { Ajv2020 } from 'ajv/dist/2020.js'
import Type from 'typebox'
import { expect, test, vi } from 'vitest'
import { compileCheck } from './validation.ts'

test('equal schemas of different routes and applications are compiled once, and a different one is compiled separately', () => {
  const compile = vi.spyOn(Ajv2020.prototype, 'compile')
  const schemaOf = (maxLength: number) => Type.Object({ name: Type.String({ maxLength }) })
  const [first, same, longer] = [3, 3, 5].map((most) => compileCheck('body', schemaOf(most)))
  expect(first?.({ name: 'four' })).toMatchObject([{ code: 'too_long' }])
  expect(same?.({ name: 'four' })).toMatchObject([{ code: 'too_long' }])
  expect(longer?.({ name: 'four' })).toEqual([])
  expect(compile).toHaveBeenCalledTimes(2)
})
