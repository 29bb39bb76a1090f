import { useState } from 'react'
import { messages } from '../messages.ts'
import { Command } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { type Example, quoted } from './example.ts'
import { Segments } from './field.tsx'

export const useShowAsText = messages({
  en: {
    title: 'The same with the API',
    kind: 'Show as',
    hint: 'Each example is one call of the API. Set BERTH_TOKEN to an API token of yours.',
  },
  ru: {
    title: 'То же через API',
    kind: 'Вид примера',
    hint: 'Каждый пример — один вызов API. Запишите свой токен API в переменную BERTH_TOKEN.',
  },
})

const kinds = [
  { value: 'berth', title: 'berth' },
  { value: 'curl', title: 'curl' },
  { value: 'sdk', title: 'TypeScript' },
] as const
type Kind = (typeof kinds)[number]['value']

/** The parts that a call may have, whatever its route. */
interface AnyCall {
  route: string
  path?: Readonly<Record<string, string>> | undefined
  query?: Readonly<Record<string, unknown>> | undefined
  body?: object | undefined
}

function curl({ route, path = {}, query = {}, body }: AnyCall): string {
  const [method = '', template = ''] = route.split(' ')
  const at = template.replace(/\{(\w+)\}/g, (_, name: string) => path[name] ?? '…')
  const asked = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  const url = `${location.origin}/v1${at}${asked.size > 0 ? `?${asked}` : ''}`
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    '-H "Authorization: Bearer $BERTH_TOKEN"',
    ...(body ? ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body, null, 2))}`] : []),
  ]
  return lines.join(' \\\n  ')
}

/** As a line of TypeScript, or as JSON if it is long. */
function literal(value: object): string {
  const json = JSON.stringify(value, null, 2)
  if (json.length > 100) return json
  return json
    .replace(/\s+/g, ' ')
    .replace(/"(\w+)":/g, '$1:')
    .replaceAll('"', "'")
}

function program(sdk: string, { path = {}, query, body }: AnyCall): string {
  const parts = [
    ...Object.values(path).map((id) => `'${id}'`),
    ...[query, body].flatMap((part) => part ?? []),
  ]
  const given = parts.map((part) => (typeof part === 'string' ? part : literal(part)))
  return [
    "import { Berth } from '@berth/sdk'",
    '',
    `const berth = new Berth({ baseUrl: '${location.origin}/v1', token: process.env.BERTH_TOKEN })`,
    `await berth.${sdk.endsWith(')') ? sdk : `${sdk}(${given.join(', ')})`}`,
  ].join('\n')
}

function text(example: Example, kind: Kind): string | null {
  if (kind === 'berth') return example.berth
  return kind === 'sdk' ? program(example.sdk, example) : curl(example)
}

export function ShowAsDialog({ examples, onClose }: { examples: readonly Example[]; onClose: () => void }) {
  const t = useShowAsText()
  const [kind, setKind] = useState<Kind>('berth')
  return (
    <Dialog title={t.title} isWide onClose={onClose}>
      <Segments label={t.kind} value={kind} options={kinds} onChange={setKind} />
      {examples.map((example) => {
        const shown = text(example, kind)
        return shown === null ? null : (
          <section key={example.route} className="stack" style={{ gap: 6 }}>
            <h3>{example.route}</h3>
            <Command text={shown} />
          </section>
        )
      })}
      <p className="muted small">{t.hint}</p>
    </Dialog>
  )
}
