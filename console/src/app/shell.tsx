import { useQuery } from '@tanstack/react-query'
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Features } from '../feature.ts'
import { useFormats } from '../format.ts'
import { wasRefused } from '../linked.ts'
import { Contact } from '../people/hoster.tsx'
import { SignInAgain } from '../people/sign-in-again.tsx'
import { TermsGate } from '../people/terms-gate.tsx'
import { sessionQuery } from '../session.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { useKeys } from '../ui/keys.ts'
import { Facts } from '../ui/page.tsx'
import { Announcements } from './announcements.tsx'
import { Complaints } from './complaints.tsx'
import { features } from './features.ts'
import { Limits } from './limits.tsx'
import { follow, useLostAt } from './live.ts'
import { Brand, Navigation } from './navigation.tsx'
import { Palette } from './palette.tsx'
import { useAppText } from './text.ts'
import { useIsOutdated } from './version.ts'

type Overlay = 'palette' | 'menu' | 'keys' | null

/** The frame around every page of an account: menu, top bar, dialogs. */
export function Shell() {
  const t = useAppText()
  const [overlay, setOverlay] = useState<Overlay>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const close = () => setOverlay(null)
  useEffect(follow, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page that was gone to closes the menu
  useEffect(close, [path])
  useShortcuts(setOverlay)
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {t.skip}
      </a>
      <Navigation onFind={() => setOverlay('palette')} />
      <header className="topbar">
        <Brand />
        <span>
          <IconButton icon="search" label={t.find} onClick={() => setOverlay('palette')} />
          <IconButton icon="menu" label={t.openMenu} onClick={() => setOverlay('menu')} />
        </span>
      </header>
      <div>
        <Lines />
        <main id="main" className="main">
          <Features value={features}>
            <TermsGate>
              <Outlet />
            </TermsGate>
          </Features>
        </main>
      </div>
      {overlay === 'palette' ? <Palette onClose={close} /> : null}
      {overlay === 'menu' ? (
        <Dialog title="Berth" isSide onClose={close}>
          <Navigation onFind={() => setOverlay('palette')} />
        </Dialog>
      ) : null}
      {overlay === 'keys' ? (
        <Dialog title={t.keys} onClose={close}>
          <Facts facts={t.keyList.map(([key = '', use = '']) => [key, use])} />
        </Dialog>
      ) : null}
      <SignInAgain />
    </div>
  )
}

function useShortcuts(open: (overlay: Overlay) => void): void {
  const navigate = useNavigate()
  useKeys({
    '?': () => open('keys'),
    c: () => void navigate({ to: '/servers/new' }),
    g: () => void navigate({ to: '/' }),
    s: () => void navigate({ to: '/servers' }),
  })
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      open('palette')
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [open])
}

/** Why the account is suspended or closed, and since when. */
function Held() {
  const t = useAppText()
  const { date } = useFormats()
  const account = useQuery(sessionQuery).data
  if (!account || account.status === 'active') return null
  const { status, status_reason, status_since } = account
  return (
    <div className="connection">
      {t.held[status](status_since && date(status_since), status_reason)} {t.questions} <Contact />
    </div>
  )
}

/** Tells people who followed a link to an account that they are not in. */
function NotMember() {
  const t = useAppText()
  const account = useQuery(sessionQuery).data
  return account && wasRefused ? <div className="connection">{t.notMember(account.name)}</div> : null
}

/** Notices about the account's status, a lost connection and a newer console. */
function Lines() {
  const t = useAppText()
  const lostAt = useLostAt()
  const isOutdated = useIsOutdated()
  const { locale } = useFormats()
  return (
    <div role="status">
      <NotMember />
      <Held />
      <Complaints />
      <Announcements />
      <Limits />
      {lostAt === null ? null : (
        <div className="connection">{t.lost(new Date(lostAt).toLocaleTimeString(locale))}</div>
      )}
      {isOutdated ? (
        <div className="connection" data-tone="plain">
          {t.newVersion}
          <Button onClick={() => location.reload()}>{t.reload}</Button>
        </div>
      ) : null}
    </div>
  )
}
