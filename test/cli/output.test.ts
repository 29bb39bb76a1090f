import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Format, showList } from '../../cli/output.ts'

interface Item {
  name: string
  status: string
  note: string
}

const columns = {
  name: ({ name }: Item) => name,
  status: ({ status }: Item) => status,
  note: ({ note }: Item) => note,
}

async function shown(
  items: Item[],
  { format = 'table', isTTY = false }: { format?: Format; isTTY?: boolean },
) {
  const out = Object.assign(new PassThrough(), { isTTY })
  const all = text(out)
  await showList(out, format, items, columns, { columns: Object.keys(columns) })
  out.end()
  return all
}

const HIDDEN = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u
/** Characters that break tables, and halves of surrogate pairs. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom('a', ' ', '服', '👩‍👩‍👧', 'ש', 'é', '\u202E', '\u2028', '\n', '\u009B', '\uD800'),
  }),
)
const anyItem = fc.record({ name: anyText, status: anyText, note: anyText })

test('whatever the names are, each object has one line in aligned columns', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyItem, { minLength: 1, maxLength: 5 }), async (items) => {
      // The last column has a visible beginning.
      const ended = items.map((item) => ({ ...item, note: '#' }))
      const lines = (await shown(ended, {})).split('\n').slice(0, -1)
      expect(lines).toHaveLength(items.length + 1)
      const begins = lines.slice(1).map((line) => stringWidth(line.slice(0, line.lastIndexOf('#'))))
      expect(new Set(begins).size).toBe(1)
      for (const line of lines) expect(line).not.toMatch(HIDDEN)
    }),
  )
})

test('JSON escapes the same characters, so that programs read exactly the reply of the API', async () => {
  const whole = anyItem.filter(({ name, status, note }) => (name + status + note).isWellFormed())
  await fc.assert(
    fc.asyncProperty(fc.array(whole, { maxLength: 5 }), async (items) => {
      for (const format of ['json', 'yaml'] as const) {
        const all = await shown(items, { format })
        expect(all.replaceAll('\n', '')).not.toMatch(HIDDEN)
        expect(format === 'json' ? JSON.parse(all) : parse(all)).toEqual(items)
      }
    }),
  )
})

test('a line of spaces in a long text survives YAML unchanged', async () => {
  const items = [{ name: '', status: '', note: `${'a'.repeat(60)}\n \n` }]
  expect(parse(await shown(items, { format: 'yaml' }))).toEqual(items)
})

test('an empty value is printed as a dash', async () => {
  const all = await shown([{ name: '', status: ' ', note: '\u3000' }], {})
  expect(all).toBe('NAME  STATUS  NOTE\n-     -       -\n')
})

test('titles are bold and statuses coloured on a terminal, and plain elsewhere', async () => {
  const items = ['running', 'error', 'stopped', 'rebooting'].map((status) => ({
    name: 'web',
    status,
    note: 'running',
  }))
  const [plain, coloured] = [await shown(items, {}), await shown(items, { isTTY: true })]
  expect(plain).not.toContain('\x1b')
  expect(stripVTControlCharacters(coloured)).toBe(plain)
  expect(coloured.split('\n')).toEqual([
    '\x1b[1mNAME\x1b[22m  \x1b[1mSTATUS\x1b[22m     \x1b[1mNOTE\x1b[22m',
    'web   \x1b[32mrunning\x1b[39m    running',
    'web   \x1b[31merror\x1b[39m      running',
    'web   \x1b[2mstopped\x1b[22m    running',
    'web   \x1b[33mrebooting\x1b[39m  running',
    '',
  ])
})
