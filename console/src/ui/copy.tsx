import { useEffect, useState } from 'react'
import { Icon } from './icon.tsx'
import { useUiText } from './text.ts'

function useCopy(text: string): { isCopied: boolean; copy: () => void } {
  const [isCopied, setIsCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setIsCopied(false), 1_500)
    return () => clearTimeout(timer)
  }, [isCopied])
  return { isCopied, copy: () => void put(text).then(() => setIsCopied(true)) }
}

/** Copies through a hidden field if there is no clipboard API, as on pages without TLS. */
async function put(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

/** An id, an address or a key: a click copies it. */
export function Copy({ text, shown = text, label }: { text: string; shown?: string; label?: string }) {
  const t = useUiText()
  const { isCopied, copy } = useCopy(text)
  return (
    <button type="button" className="copy mono" title={label ?? t.copy} onClick={copy}>
      {shown}
      <Icon name={isCopied ? 'check' : 'copy'} />
      {isCopied ? (
        <span className="visually-hidden" role="status">
          {t.copied}
        </span>
      ) : null}
    </button>
  )
}

/** The end of an id: ids of one day begin alike (RFC 9562, version 7). A click copies all of it. */
export const CopyId = ({ id }: { id: string }) => <Copy text={id} shown={`…${id.slice(-8)}`} />

/** A command or a text of several lines, with a button that copies all of it. */
export function Command({ text }: { text: string }) {
  const t = useUiText()
  const { isCopied, copy } = useCopy(text)
  return (
    <div className="command">
      <pre>{text}</pre>
      <button type="button" className="button icon-only" data-kind="quiet" aria-label={t.copy} onClick={copy}>
        <Icon name={isCopied ? 'check' : 'copy'} />
      </button>
      <span className="visually-hidden" role="status">
        {isCopied ? t.copied : ''}
      </span>
    </div>
  )
}
