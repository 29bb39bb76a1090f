import { expect, test } from 'vitest'
import { agedPasta } from './pasta-uplink.ts'

test('a pasta that breaks connections is recognized by the version that it reports', () => {
  for (const aged of [
    'pasta unknown version\nCopyright',
    'passt 0.0~git20230309.7c7625d-1',
    '',
    '2024_02_20.1e6f92b',
  ])
    expect(agedPasta(aged)).toContain('newer package passt')
  for (const good of [
    'pasta 0.0~git20250503.587980c-2',
    'pasta 0^20250611.g0293c6f-1.fc42.x86_64',
    '2025_09_11.6cbcccc',
  ])
    expect(agedPasta(good)).toBe(null)
})
