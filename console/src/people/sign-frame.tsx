import { type ReactNode, useEffect } from 'react'
import { PreferencesMenu } from '../ui/preferences-menu.tsx'
import { HosterMark } from './hoster.tsx'

/** The frame around pages for users who are not signed in. */
export function SignFrame({
  title,
  about,
  children,
}: {
  title: string
  about?: string | undefined
  children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Berth`
  }, [title])
  return (
    <main className="sign">
      <div className="brand">
        <HosterMark />
      </div>
      <div className="card stack">
        <div>
          <h1>{title}</h1>
          {about ? <p className="muted">{about}</p> : null}
        </div>
        {children}
      </div>
      <PreferencesMenu />
    </main>
  )
}
