import { useEffect, useRef } from 'react'

/** True if the key is typed into a field, or belongs to an open dialog. */
function isElsewhere(target: EventTarget | null): boolean {
  const isTyped =
    target instanceof HTMLElement &&
    (target.matches('input, select, textarea') || target.closest('.xterm') !== null)
  return isTyped || document.querySelector('dialog[open]') !== null
}

/** The keyboard shortcuts of a page, by key: `j`, `/`, `?`. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const current = useRef(keys)
  current.current = keys
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isElsewhere(event.target)) return
      const run = current.current[event.key]
      if (!run) return
      event.preventDefault()
      run()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}
