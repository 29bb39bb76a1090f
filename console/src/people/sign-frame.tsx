import { type ReactNode, useEffect } from 'react'
import mark from '../ui/mark.svg'
import { PreferencesMenu } from '../ui/preferences-menu.tsx'

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
        <img src={mark} alt="" />
        Berth
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
