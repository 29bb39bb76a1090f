// Links between documents lead to a file and a heading that exist, and settings can be pasted as they are shown.
import path from 'node:path'
import { expect, test } from 'vitest'
import { exists, files, read } from './harness/sources.ts'

const documents = files.filter((file) => file.endsWith('.md'))
const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```/gm, '')

/** The anchors that GitHub gives the headings of a page; a repeated one gets a number. */
function anchors(file: string): Set<string> {
  const found = new Set<string>()
  for (const [, heading = ''] of withoutCode(read(file)).matchAll(/^#+ (.+)$/gm)) {
    const base = heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-')
    let anchor = base
    for (let number = 1; found.has(anchor); number++) anchor = `${base}-${number}`
    found.add(anchor)
  }
  return found
}

test('every relative link of a document leads to a file and a heading that exist', () => {
  const broken = documents.flatMap((document) =>
    [...withoutCode(read(document)).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [target = '', anchor] = link.split('#')
        const file = target === '' ? document : path.posix.join(path.posix.dirname(document), target)
        if (!exists(file)) return true
        return anchor !== undefined && file.endsWith('.md') && !anchors(file).has(anchor)
      })
      .map((link) => `${document}: ${link}`),
  )
  expect(broken, 'Correct the link, or the heading that it names.').toEqual([])
})

test('every page of decisions is in the index', () => {
  const index = read('docs/decisions.md')
  const pages = documents
    .filter((file) => file.startsWith('docs/decisions/'))
    .map((file) => path.posix.basename(file))
  expect(pages.filter((page) => !index.includes(`(decisions/${page})`))).toEqual([])
})

test('the map of CONTRIBUTING.md has every folder of the service, and no other', () => {
  const map = /^api\/ [\s\S]*?^cli\/ /m.exec(read('CONTRIBUTING.md'))?.[0] ?? ''
  const mapped = [...map.matchAll(/^ {2}([\w-]+)\/ /gm)].map(([, folder]) => folder)
  const own = files.flatMap((file) => /^api\/([\w-]+)\//.exec(file)?.[1] ?? [])
  expect(mapped.toSorted(), 'Correct the map in CONTRIBUTING.md.').toEqual([...new Set(own)].toSorted())
})

test('a setting has no comment on its line, which systemd would read as a part of the value', () => {
  const found = documents.flatMap((document) =>
    [...read(document).matchAll(/^[A-Z][A-Z_]+=\S*[ \t]+#.*$/gm)].map(([line]) => `${document}: ${line}`),
  )
  expect(found, 'Put the comment on a line of its own.').toEqual([])
})
