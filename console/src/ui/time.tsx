import { useSyncExternalStore } from 'react'
import { UNKNOWN, useFormats } from '../format.ts'

const listeners = new Set<() => void>()
let now = Date.now()
setInterval(() => {
  now = Date.now()
  for (const listener of listeners) listener()
}, 15_000)

/** The time, which moves on every quarter of a minute. */
export const useNow = (): number =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => now,
  )

/** The age of a moment; hovering shows the exact time. */
export function Time({ at }: { at: string | null }) {
  const format = useFormats()
  const present = useNow()
  if (at === null) return <>{UNKNOWN}</>
  return (
    <time dateTime={at} title={format.exact(at)}>
      {format.relative(at, Math.max(present, Date.now() - 15_000))}
    </time>
  )
}
