import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { berth } from '../client.ts'
import { serversQuery } from '../servers/queries.ts'
import { useMay } from '../session.ts'
import { usePlaces } from './navigation.tsx'
import { useAppText } from './text.ts'

interface Entry {
  id: string
  title: string
  kind: string
  run: () => void
}

/** The most entries shown at once; typing narrows them down. */
const MOST = 12

function useEntries(typed: string): Entry[] {
  const t = useAppText()
  const may = useMay('servers:write')
  const navigate = useNavigate()
  const places = usePlaces().flatMap((group) => group.places)
  const servers = useQuery(serversQuery({ limit: 200 })).data?.items ?? []
  const all: Entry[] = [
    ...(may
      ? [{ id: 'new', title: t.newServer, kind: t.action, run: () => void navigate({ to: '/servers/new' }) }]
      : []),
    ...places.map(({ title, to }) => ({ id: to, title, kind: t.page, run: () => void navigate({ to }) })),
    ...servers.map(({ server_id, name }) => ({
      id: server_id,
      title: name,
      kind: t.server,
      run: () => void navigate({ to: '/servers/$serverId', params: { serverId: server_id } }),
    })),
    ...servers
      .filter(({ status }) => may && (status === 'running' || status === 'stopped'))
      .map(({ server_id, name, status }) => ({
        id: `power ${server_id}`,
        title: status === 'running' ? t.stop(name) : t.start(name),
        kind: t.action,
        run: () => {
          // The server's page shows the result.
          void (status === 'running' ? berth.servers.stop(server_id) : berth.servers.start(server_id)).catch(
            () => {},
          )
          void navigate({ to: '/servers/$serverId', params: { serverId: server_id } })
        },
      })),
  ]
  const words = typed.toLowerCase().split(/\s+/)
  return all.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word))).slice(0, MOST)
}

/** A palette that opens any page and offers the most frequent actions. */
export function Palette({ onClose }: { onClose: () => void }) {
  const t = useAppText()
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const entries = useEntries(typed)
  useEffect(() => {
    const { current } = dialog
    if (current && !current.open) current.showModal()
    return () => current?.close()
  }, [])
  const choose = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    entry.run()
  }
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (event.key === 'Enter') choose(entries[at])
    if (step === 0) return
    event.preventDefault()
    setAt((at + step + entries.length) % Math.max(1, entries.length))
  }
  return (
    <dialog ref={dialog} className="dialog palette" aria-label={t.find} onCancel={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={entries[at] ? `${id}-${at}` : undefined}
        aria-label={t.findHint}
        placeholder={t.findHint}
        value={typed}
        autoFocus
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
        }}
        onKeyDown={press}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a list box has no element of its own */}
      <ul id={id} role="listbox" aria-label={t.find}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field above has the focus
          <li
            key={entry.id}
            id={`${id}-${index}`}
            // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: an option of the list box
            role="option"
            aria-selected={index === at}
            onPointerMove={() => setAt(index)}
            onClick={() => choose(entry)}
          >
            {entry.title}
            <span className="muted small">{entry.kind}</span>
          </li>
        ))}
        {entries.length === 0 ? <li aria-disabled="true">{t.nothingFound}</li> : null}
      </ul>
    </dialog>
  )
}
