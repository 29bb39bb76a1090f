import type { ReactNode } from 'react'

export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'off'

/** Each tone has a separate shape, because colour alone is not accessible. */
const shapes: Record<Tone, ReactNode> = {
  good: <circle cx="5" cy="5" r="4.2" fill="currentColor" />,
  warn: <path d="M5 .8 9.6 9.200H.4z" fill="currentColor" />,
  bad: <path d="M1.5 1.500l7 7m0-7l-7 7" stroke="currentColor" strokeWidth="2" />,
  busy: (
    <circle cx="5" cy="5" r="3.8" fill="none" stroke="currentColor" strokeWidth="2" strokeDasharray="16 8" />
  ),
  off: <circle cx="5" cy="5" r="3.6" fill="none" stroke="currentColor" strokeWidth="1.6" />,
}

export function Status({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className="status" data-tone={tone}>
      <svg viewBox="0 0 10 10" aria-hidden="true">
        {shapes[tone]}
      </svg>
      {children}
    </span>
  )
}
