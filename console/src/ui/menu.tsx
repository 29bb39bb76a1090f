import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { Icon, type IconName } from './icon.tsx'

export interface MenuItem {
  title: string
  icon?: IconName
  isDangerous?: boolean
  isDisabled?: boolean
  onSelect: () => void
}

interface MenuProps {
  label: string
  icon?: IconName
  /** The text of the button (default: the icon alone). */
  children?: ReactNode
  items: readonly MenuItem[]
}

const STEPS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at - 1 + count) % count,
  Home: () => 0,
  End: (_at, count) => count - 1,
}

/** Between the list and its button, and the edge of the window. */
const GAP = 4
const EDGE = 8

/** The list opens below its button, or above it if there is no room below. */
function place(list: HTMLElement, button: HTMLElement): void {
  const { top, right, bottom } = button.getBoundingClientRect()
  const { offsetWidth, offsetHeight } = list
  const fitsBelow = bottom + GAP + offsetHeight <= innerHeight - EDGE
  list.style.top = `${fitsBelow ? bottom + GAP : Math.max(EDGE, top - GAP - offsetHeight)}px`
  list.style.left = `${Math.max(EDGE, right - offsetWidth)}px`
}

/** A button with a list of actions: arrows move, Escape closes. */
export function Menu({ label, icon = 'more', children, items }: MenuProps) {
  const [isOpen, setIsOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const close = () => {
    setIsOpen(false)
    root.current?.querySelector('button')?.focus()
  }
  useLayoutEffect(() => {
    const { current } = root
    const shown = current?.querySelector<HTMLElement>('[role=menu]')
    const button = current?.querySelector('button')
    if (!isOpen || !current || !shown || !button) return
    // In the top layer, no table clips the list or scrolls for it.
    shown.showPopover()
    place(shown, button)
    shown.querySelector<HTMLElement>('[role=menuitem]:not(:disabled)')?.focus({ preventScroll: true })
    const leave = ({ target }: Event) => {
      if (target instanceof Node && !current.contains(target)) setIsOpen(false)
    }
    const { top } = button.getBoundingClientRect()
    // A scroll event from just before the click may arrive late, although nothing moves.
    const scroll = () => {
      if (button.getBoundingClientRect().top !== top) setIsOpen(false)
    }
    const resize = () => setIsOpen(false)
    document.addEventListener('pointerdown', leave)
    document.addEventListener('scroll', scroll, true)
    addEventListener('resize', resize)
    return () => {
      document.removeEventListener('pointerdown', leave)
      document.removeEventListener('scroll', scroll, true)
      removeEventListener('resize', resize)
    }
  }, [isOpen])
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Escape' || event.key === 'Tab') return close()
    const entries: (Element | null)[] = [
      ...(root.current?.querySelectorAll('[role=menuitem]:not(:disabled)') ?? []),
    ]
    const at = entries.indexOf(document.activeElement)
    const step = STEPS[event.key]
    if (!step) return
    event.preventDefault()
    const next = entries[step(at, entries.length)]
    if (next instanceof HTMLElement) next.focus()
  }
  return (
    <div className="menu" ref={root}>
      <button
        type="button"
        className={children ? 'button' : 'button icon-only'}
        data-kind={children ? 'plain' : 'quiet'}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={children ? undefined : label}
        title={children ? undefined : label}
        onClick={() => setIsOpen(!isOpen)}
      >
        {children ?? <Icon name={icon} />}
        {children ? <Icon name="down" /> : null}
      </button>
      {isOpen ? (
        <div
          className="menu-list"
          popover="manual"
          role="menu"
          aria-label={label}
          tabIndex={-1}
          onKeyDown={move}
        >
          {items.map((item) => (
            <button
              key={item.title}
              type="button"
              role="menuitem"
              data-danger={item.isDangerous}
              disabled={item.isDisabled}
              onClick={() => {
                close()
                item.onSelect()
              }}
            >
              {item.icon ? <Icon name={item.icon} /> : null}
              {item.title}
            </button>
          ))}
        </div>
      ) : null}
    </div>
  )
}
