import { type ReactNode, useEffect, useId, useRef } from 'react'
import { IconButton } from './button.tsx'
import { useUiText } from './text.ts'

interface DialogProps {
  title: string
  onClose: () => void
  /** True to open at the side of the page, for the details of a row. */
  isSide?: boolean
  isWide?: boolean
  children: ReactNode
}

/** The browser's own dialog: it holds the focus, closes with Escape, and gives the focus back. */
export function Dialog({ title, onClose, isSide = false, isWide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const t = useUiText()
  useEffect(() => {
    const { current } = dialog
    if (current && !current.open) {
      current.showModal()
      // The browser would focus the first button, and Enter would close the dialog.
      current.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    }
    return () => current?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog is what Escape is on the keyboard
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={id}
      data-side={isSide}
      data-wide={isWide}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label={t.close} onClick={onClose} />
      </header>
      <div className="body stack">{children}</div>
    </dialog>
  )
}
