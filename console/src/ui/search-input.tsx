import { type ComponentProps, useEffect, useState } from 'react'

const PAUSE_MS = 300

interface SearchInputProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange'> {
  label: string
  value: string
  onChange: (value: string) => void
}

/** A filter that is sent after a pause in typing, and follows the page's address. */
export function SearchInput({ label, value, onChange, ...rest }: SearchInputProps) {
  const [typed, setTyped] = useState(value)
  const [sent, setSent] = useState(value)
  const [given, setGiven] = useState(value)
  if (value !== given) {
    setGiven(value)
    // The field's own value returns through the address late, when more may have been typed.
    if (value !== sent) {
      setSent(value)
      setTyped(value)
    }
  }
  useEffect(() => {
    if (typed === sent) return
    const timer = setTimeout(() => {
      setSent(typed)
      onChange(typed)
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed, sent, onChange])
  return (
    <input
      className="input"
      aria-label={label}
      placeholder={label}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      {...rest}
    />
  )
}
