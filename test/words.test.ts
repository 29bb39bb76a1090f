// Texts are in the plain English of the field: the phrases that kept coming back are refused. AGENTS.md lists what to write instead.
import { expect, test } from 'vitest'
import { files, isTest, read } from './harness/sources.ts'

/** Where the phrases are gone, and stay so. */
const cleaned =
  /^(api|cli|sdk)\/.+\.(ts|mjs|md)$|^setup\.mjs$|^(README|CONTRIBUTING)\.md$|^docs\/(cli|contract|operating|running)\.md$/
/** Its texts come from api/. */
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
  expect(found, 'Write it as AGENTS.md says under "Phrases".').toEqual([])
})
