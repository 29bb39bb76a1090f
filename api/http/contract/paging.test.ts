import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linkHeader } from './paging.ts'

/** The offsets that a Link header names, by relation. */
function offsets(header: string): Record<string, number> {
  return Object.fromEntries(
    [...header.matchAll(/offset=(\d+)[^>]*>; rel="(\w+)"/g)].map(([, offset, rel]) => [rel, Number(offset)]),
  )
}

test('links keep the rest of the query', () => {
  expect(linkHeader('/v1/servers?status=running&limit=2&name=a%26b', { limit: 2, offset: 2 }, 5)).toBe(
    [
      '</v1/servers?status=running&limit=2&name=a%26b&offset=0>; rel="first"',
      '</v1/servers?status=running&limit=2&name=a%26b&offset=0>; rel="prev"',
      '</v1/servers?status=running&limit=2&name=a%26b&offset=4>; rel="next"',
      '</v1/servers?status=running&limit=2&name=a%26b&offset=4>; rel="last"',
    ].join(', '),
  )
  expect(offsets(linkHeader('/v1/servers', { limit: 100, offset: 0 }, 0))).toEqual({ first: 0, last: 0 })
})

test('following the links to the next page returns every item once, and stops at the last page', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.nat({ max: 2_000 }), (limit, total) => {
      let seen = 0
      let at: number | undefined = 0
      let last = -1
      while (at !== undefined) {
        seen += Math.min(limit, total - at)
        last = at
        at = offsets(linkHeader('/v1/servers', { limit, offset: at }, total)).next
      }
      expect([seen, offsets(linkHeader('/v1/servers', { limit, offset: 0 }, total)).last]).toEqual([
        total,
        last,
      ])
    }),
  )
})

test('with filters too long for a proxy, a page has only the link to the next page, and the last page that to the first', () => {
  const url = `/v1/servers?name=${'x'.repeat(1_000)}`
  const header = linkHeader(url, { limit: 2, offset: 2 }, 5)
  expect([header.length < 2_500, offsets(header)]).toEqual([true, { next: 4 }])
  expect(offsets(linkHeader(url, { limit: 2, offset: 4 }, 5))).toEqual({ first: 0 })
})
