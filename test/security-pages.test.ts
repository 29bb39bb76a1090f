// The pages on security name tests as evidence. Each test must exist, or a claim would outlive its evidence.
import { expect, test } from 'vitest'
import { files, product, read } from './harness/sources.ts'

const pages = ['docs/security.md', 'docs/security-checklist.md']

/** A file of tests, and names in “…” behind it up to the next file. */
function named(page: string): { file: string; names: string[] }[] {
  return read(page)
    .split('\n')
    .flatMap((line) => [...line.matchAll(/`([\w./-]+\.test\.ts)`((?: “[^”]+”)*)/g)])
    .map(([, file = '', quoted = '']) => ({
      file,
      names: [...quoted.matchAll(/“([^”]+)”/g)].map(([, name = '']) => name),
    }))
}

test.each(pages)('every test that %s names exists', (page) => {
  const found = named(page)
  expect(found.length).toBeGreaterThan(10)
  const wrong = found.flatMap(({ file, names }) => {
    if (!files.includes(file)) return [`no file ${file}`]
    const text = read(file)
    return names
      .filter((name) => !text.includes(`test('${name}'`))
      .map((name) => `${file} has no test “${name}”`)
  })
  expect(wrong, 'Name the test that shows it, or say that the item is not met.').toEqual([])
})

test('a quoted test name follows the file of its test, so that it is checked', () => {
  for (const page of pages) {
    const quoted = [...read(page).matchAll(/“[^”]+”/g)].length
    expect([page, named(page).flatMap(({ names }) => names).length]).toEqual([page, quoted])
  }
})

test('items without a test give the reason', () => {
  const items = read('docs/security-checklist.md')
    .split('\n')
    .filter((line) => /^- \*\*[\dA]/.test(line))
  expect(items.length).toBeGreaterThan(40)
  const bare = items.filter((line) => !/`[\w./-]+\.test\.ts`/.test(line))
  const reason = /: (\*\*(Not met|Left to the operator)|.*\boperating\.md\b)/
  expect(bare.filter((line) => !reason.test(line))).toEqual([])
})

/** Tables that customers cannot grow: the installation's own, and those with a fixed number of rows. */
const OWN_TABLES = [
  ...[
    'announcements',
    'duties',
    'event_relay',
    'hcloud_counter',
    'installation',
    'limit_steps',
    'operator_tokens',
    'pool_shares',
    'processes',
    'promo_codes',
  ],
  'simulated_machines',
]

test('each table that customers can fill has its bound on the page', () => {
  const [, growth = ''] = read('docs/security.md').split('## What a customer can make grow')
  const [bounds = ''] = growth.split('\n## ')
  const tables = product.flatMap(({ text }) =>
    [...text.matchAll(/interface Schema \{([^}]*)\}/g)].flatMap(([, fields = '']) =>
      [...fields.matchAll(/^ +(\w+):/gm)].map(([, name = '']) => name),
    ),
  )
  expect(tables).toContain('servers')
  const missing = tables.filter((name) => !OWN_TABLES.includes(name) && !bounds.includes(`\`${name}\``))
  expect(missing, 'Say how many rows an account may have, and what deletes the others.').toEqual([])
})
