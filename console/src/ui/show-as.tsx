import { useState } from 'react'
import { Button } from './button.tsx'
import { Command } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Segments } from './field.tsx'
import { useUiText } from './text.ts'

/** One call of the API, as each kind of program makes it. */
export interface Example {
  title: string
  /** For the command line; null if it has no command for it. */
  berth: string | null
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With its query, below /v1. */
  path: string
  body?: object
  /** Of `berth` in TypeScript: `servers.list({ status: 'running' })`. */
  sdk: string
}

const kinds = [
  { value: 'berth', title: 'berth' },
  { value: 'curl', title: 'curl' },
  { value: 'sdk', title: 'TypeScript' },
] as const
type Kind = (typeof kinds)[number]['value']

/** A word for a shell, in quotes if it needs them. */
export const quoted = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** A command of `berth`: flags without a value are left out. */
export function berthCommand(words: string, flags: Readonly<Record<string, unknown>> = {}): string {
  const given = Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined || value === null || value === false || value === '') return []
    if (Array.isArray(value)) return value.map((part) => `--${name} ${quoted(String(part))}`)
    return value === true ? [`--${name}`] : [`--${name} ${quoted(String(value))}`]
  })
  return [`berth ${words}`, ...given].join(given.length > 2 ? ' \\\n  ' : ' ')
}

function text({ berth, method, path, body, sdk }: Example, kind: Kind): string | null {
  if (kind === 'berth') return berth
  if (kind === 'sdk')
    return [
      "import { Berth } from '@berth/sdk'",
      '',
      `const berth = new Berth({ baseUrl: '${location.origin}/v1', token: process.env.BERTH_TOKEN })`,
      `await berth.${sdk}`,
    ].join('\n')
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(`${location.origin}/v1${path}`)}`,
    '-H "Authorization: Bearer $BERTH_TOKEN"',
    ...(body ? ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body, null, 2))}`] : []),
  ]
  return lines.join(' \\\n  ')
}

/** A button that shows what the page does as a command, a request and a program. */
export function ShowAs({ examples }: { examples: readonly Example[] }) {
  const t = useUiText()
  const [isOpen, setIsOpen] = useState(false)
  const [kind, setKind] = useState<Kind>('berth')
  return (
    <>
      <Button icon="code" kind="quiet" onClick={() => setIsOpen(true)}>
        {t.showAs}
      </Button>
      {isOpen ? (
        <Dialog title={t.showAsTitle} isWide onClose={() => setIsOpen(false)}>
          <Segments label={t.showAs} value={kind} options={kinds} onChange={setKind} />
          {examples.map((example) => {
            const shown = text(example, kind)
            return shown === null ? null : (
              <section key={example.title} className="stack" style={{ gap: 6 }}>
                <h3>{example.title}</h3>
                <Command text={shown} />
              </section>
            )
          })}
          <p className="muted small">{t.showAsHint}</p>
        </Dialog>
      ) : null}
    </>
  )
}
