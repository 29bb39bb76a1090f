import { useQuery } from '@tanstack/react-query'
import { Link, type LinkProps } from '@tanstack/react-router'
import { SignedIn } from '../people/signed-in.tsx'
import { sessionQuery } from '../session.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import mark from '../ui/mark.svg'
import { PreferencesMenu } from '../ui/preferences-menu.tsx'
import { useAppText } from './text.ts'

export interface Place {
  title: string
  icon: IconName
  to: NonNullable<LinkProps['to']>
}

/** Every page that can be gone to by its name: the menu and the palette read the same list. */
export function usePlaces(): { title: string | null; places: Place[] }[] {
  const t = useAppText()
  const isOperator = useQuery(sessionQuery).data?.person?.is_operator === true
  return [
    { title: null, places: [{ title: t.overview, icon: 'overview', to: '/' }] },
    {
      title: t.compute,
      places: [
        { title: t.servers, icon: 'server', to: '/servers' },
        { title: t.networks, icon: 'network', to: '/networks' },
        { title: t.firewalls, icon: 'shield', to: '/firewalls' },
        { title: t.addresses, icon: 'address', to: '/addresses' },
        { title: t.projects, icon: 'folder', to: '/projects' },
        { title: t.sshKeys, icon: 'key', to: '/ssh-keys' },
      ],
    },
    {
      title: t.manage,
      places: [
        { title: t.billing, icon: 'billing', to: '/billing' },
        { title: t.account, icon: 'person', to: '/account' },
        { title: t.members, icon: 'people', to: '/account/members' },
        { title: t.tokens, icon: 'token', to: '/account/tokens' },
        { title: t.webhooks, icon: 'webhook', to: '/account/webhooks' },
        { title: t.security, icon: 'lock', to: '/account/security' },
        { title: t.activity, icon: 'clock', to: '/account/activity' },
      ],
    },
    ...(isOperator ? [{ title: t.installation, places: operatorPlaces(t) }] : []),
  ]
}

function operatorPlaces(t: ReturnType<typeof useAppText>): Place[] {
  return [
    { title: t.accounts, icon: 'people', to: '/operator' },
    { title: t.operations, icon: 'restart', to: '/operator/operations' },
    { title: t.capacity, icon: 'server', to: '/operator/capacity' },
    { title: t.images, icon: 'folder', to: '/operator/images' },
  ]
}

/** Pages whose address others begin with. */
const exact: readonly Place['to'][] = ['/', '/account', '/operator']

export function Navigation({ onFind }: { onFind: () => void }) {
  const t = useAppText()
  const groups = usePlaces()
  return (
    <div className="sidebar">
      <Brand />
      <button type="button" className="find" onClick={onFind}>
        <Icon name="search" />
        {t.find}
        <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label={t.navigation} className="stack" style={{ gap: 10 }}>
        {groups.map(({ title, places }) => (
          <div key={places[0]?.to} className="nav-group">
            {title ? <h2>{title}</h2> : null}
            {places.map(({ title: name, icon, to }) => (
              <Link key={to} to={to} activeOptions={{ exact: exact.includes(to) }}>
                <Icon name={icon} />
                {name}
              </Link>
            ))}
          </div>
        ))}
      </nav>
      <footer>
        <div className="nav-group">
          <a href="/v1/docs" target="_blank" rel="noreferrer">
            <Icon name="book" />
            {t.documentation}
          </a>
        </div>
        <PreferencesMenu />
        <SignedIn />
      </footer>
    </div>
  )
}

export function Brand() {
  return (
    <Link to="/" className="brand">
      <img src={mark} alt="" />
      Berth
    </Link>
  )
}
