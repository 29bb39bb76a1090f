// Texts are in the plain English of the field: the phrases that kept coming back are refused. AGENTS.md lists what to write instead.
import { expect, test } from 'vitest'
import { files, isTest, read } from './harness/sources.ts'

/** Files that must not contain these phrases. */
const cleaned = /^(api|cli|sdk)\/.+\.(ts|mjs)$|^setup\.mjs$|^(?!AGENTS).+\.md$/
/** Files whose texts come from api/. */
const generated = ['sdk/openapi.ts']

/** Whole phrases only: a word alone is often right. */
const phrases = [
  /\bwithout it['"`);]/i,
  /\b(one|zone|none|all|never) without it\b/i,
  /\bagain for each\b/i,
  /\bsee (those|which|what) (that|there|it) (are|is)\b/i,
  /\bthis is no (?!longer)\w/i,
  /\bis no (address|berth|id|json|key|number|order|token|uuid)\b/i,
  /\bwhich is none\b/i,
  /\bit is not said\b/i,
  /\byou (said no|broke it off|no longer wait)\b/i,
  /\bnothing was (made|kept|ordered)\b/i,
  /\bthe newest first\b/i,
  /\beldest\b/i,
  /\bis hung up on\b/i,
  /\bwhat answers at\b/i,
  /\bof your own measure\b/i,
  /\b(token|key) (to ask with|that asks)\b/i,
  /\bis told (so|by|of|that|on|to the)\b/i,
  /\b(server|token|key|webhook|account)s? (is|are|was|were) made\b/i,
  /\bthat (is|was|are|were) made (with|from)\b/i,
  /'(Answers ssh|Logs in by|Can be asked|Log in)'/,
  /\btakes? (a|the) server and its disk\b/i,
  /\bwhat (became|has come) of\b/i,
  /\bpulls? the plug\b/i,
  /\bfor how it is used\b/i,
  /['"`]There is no\b/,
  /\bGET \/v1\/\w+ (lists|shows)\b/,
  /\bcould not be looked (at|for)\b/i,
  /\b(tells|told) of (it|them|each|a|what)\b/i,
  /\bhas not the\b/i,
  /\bshown this once\b/i,
  /\bcan be asked for\b/i,
  /\bextended card\b/i,
]

test('no text reads as if it were translated', () => {
  const found = files
    .filter((file) => cleaned.test(file) && !isTest(file) && !generated.includes(file))
    .flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, at) =>
          phrases.flatMap((phrase) => {
            const [text] = phrase.exec(line) ?? []
            return text === undefined ? [] : [`${file}:${at + 1}  ${text}`]
          }),
        ),
    )
  expect(found, 'Write it as AGENTS.md says under "Plain English".').toEqual([])
})

// ---- comments and people ----

/** Code in which comments are counted; the client's types are generated. */
const code = files.filter(
  (file) =>
    /^(api|cli|sdk|console|test|bench)\/.+\.(ts|tsx|mjs|css)$/.test(file) && !generated.includes(file),
)

/** The first line of each comment: `//` of a block, after code, or the text after an opening slash and star. */
function comments(text: string): string[] {
  const lines = text.split('\n')
  return lines.flatMap((line, at) => {
    const [, own] = /^\s*\/\/ +(\S.*)/.exec(line) ?? []
    if (own !== undefined) return /^\s*\/\/ /.test(lines[at - 1] ?? '') ? [] : [own]
    const [, after] = /\S\s+\/\/ (\S.*)/.exec(line) ?? []
    if (after !== undefined) return [after]
    const [, block] = /\/\*\*? +(\S.*)/.exec(line) ?? []
    if (block !== undefined) return [block]
    const [, next] = /^\s*\/\*\*?$/.test(line) ? (/^\s*\* (\S.*)/.exec(lines[at + 1] ?? '') ?? []) : []
    return next === undefined ? [] : [next]
  })
}

/** Counts by folder, the most first. */
function byFolder(found: { file: string; count: number }[]): string {
  const counts = new Map<string, number>()
  for (const { file, count } of found) {
    const folder = file.split('/').slice(0, 2).join('/')
    counts.set(folder, (counts.get(folder) ?? 0) + count)
  }
  return [...counts]
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one)
    .map(([folder, count]) => `${count} ${folder}`)
    .join(', ')
}

const sum = (found: { count: number }[]) => found.reduce((total, { count }) => total + count, 0)

test('comments name their noun: none begins with What, Whom, Whose, Of or Who', () => {
  const found = code.map((file) => ({
    file,
    count: comments(read(file)).filter((text) => /^(What|Whom|Whose|Of|Who|Whoever)\b/.test(text)).length,
  }))
  expect(sum(found), `A comment is a sentence with subject and verb. ${byFolder(found)}`).toBe(0)
})

test('code and documents have neither "whoever" nor "unless told"', () => {
  // These two list the words that others avoid.
  const exempt = ['test/words.test.ts', 'AGENTS.md', ...generated]
  const found = files
    .filter((file) => /\.(ts|tsx|mjs|css|sh|md|yaml|yml|txt)$/.test(file) && !exempt.includes(file))
    .map((file) => ({ file, count: [...read(file).matchAll(/\b(whoever|unless told)\b/gi)].length }))
  expect(sum(found), `Name the person or thing; write "(default: …)". ${byFolder(found)}`).toBe(0)
})

test('documents call a person "they" or "the user"', () => {
  // AGENTS.md lists the words that others avoid; docs/reference.md is printed from texts of the code.
  const found = files
    .filter((file) => file.endsWith('.md') && !['AGENTS.md', 'docs/reference.md'].includes(file))
    .flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, at) => (/\b(she|hers?|herself)\b/i.test(line) ? [`${file}:${at + 1}`] : [])),
    )
  expect(found).toEqual([])
})
