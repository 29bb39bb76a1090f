import type { ReactNode } from 'react'
import { type Scope, useMay } from '../session.ts'
import { Note } from './states.tsx'
import { useUiText } from './text.ts'

/** Renders nothing for users without the scope. */
export function Allowed({ scope, children }: { scope: Scope; children: ReactNode }) {
  return useMay(scope) ? children : null
}

/** For users without the scope: shows everything disabled, with the reason. */
export function Guarded({ scope, children }: { scope: Scope; children: ReactNode }) {
  const t = useUiText()
  if (useMay(scope)) return children
  return (
    <div className="stack">
      <Note>{t.readOnlyAbout}</Note>
      <fieldset disabled>{children}</fieldset>
    </div>
  )
}

/** Beside the title of a page whose buttons are missing. */
export function ReadOnly({ scope }: { scope: Scope }) {
  const t = useUiText()
  return useMay(scope) ? null : (
    <span className="tag" title={t.readOnlyAbout}>
      {t.readOnly}
    </span>
  )
}
