import { inflateSync } from 'node:zlib'

/** The text of a PDF by pdfkit, a line for each piece that was placed. */
export function pdfText(pdf: Buffer): string {
  const objects = new Map<string, string>()
  for (const [, id = '', body = ''] of pdf.toString('latin1').matchAll(/(\d+) 0 obj\s(.*?)\sendobj/gs))
    objects.set(id, body)
  const streamOf = (id: string): string => {
    const [, raw = ''] = /stream\r?\n(.*)\r?\nendstream/s.exec(objects.get(id) ?? '') ?? []
    return inflateSync(Buffer.from(raw, 'latin1')).toString('latin1')
  }
  const fonts = new Map<string, string[]>()
  for (const body of objects.values())
    for (const [, name = '', id = ''] of body.matchAll(/\/(F\d+) (\d+) 0 R/g)) {
      const [, map = ''] = /\/ToUnicode (\d+) 0 R/.exec(objects.get(id) ?? '') ?? []
      if (map) fonts.set(name, charactersOf(streamOf(map)))
    }
  const pages = [...objects.values()].flatMap((body) => /\/Contents (\d+) 0 R/.exec(body)?.[1] ?? [])
  return pages.map((id) => textOf(streamOf(id), fonts)).join('\n')
}

/** Reads the characters of a font by their codes, from a map with one range for each 256 codes, beginning at 0. */
function charactersOf(map: string): string[] {
  return [...map.matchAll(/\[([^\]]*)\]/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/<([0-9a-f ]*)>/gi)].map(([, hex = '']) =>
      Buffer.from(hex.replaceAll(' ', ''), 'hex').swap16().toString('utf16le'),
    ),
  )
}

function textOf(content: string, fonts: ReadonlyMap<string, string[]>): string {
  const lines: string[] = []
  let font: string[] = []
  for (const [, name, pieces = ''] of content.matchAll(/\/(F\d+) [\d.]+ Tf|\[([^\]]*)\] TJ/g)) {
    if (name) font = fonts.get(name) ?? []
    else {
      const codes = [...pieces.matchAll(/<([0-9a-f]*)>/gi)].flatMap(
        ([, hex = '']) => hex.match(/.{4}/g) ?? [],
      )
      lines.push(codes.map((code) => font[Number.parseInt(code, 16)] ?? '\uFFFD').join(''))
    }
  }
  return lines.join('\n')
}
