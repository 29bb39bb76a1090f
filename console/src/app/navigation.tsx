import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useWords } from '../messages.ts'
import { HosterMark } from '../people/hoster.tsx'
import { SignedIn } from '../people/signed-in.tsx'
import { sessionQuery } from '../session.ts'
import { Icon } from '../ui/icon.tsx'
import { PreferencesMenu } from '../ui/preferences-menu.tsx'
import { features } from './features.ts'
import { useAppText } from './text.ts'

const groups = ['top', 'compute', 'account', 'operator'] as const

const places = features.flatMap((feature) => ('places' in feature ? [...feature.places] : []))

/** True if the addresses of other pages begin with this one's. */
const hasPagesBelow = (to: string) => places.some(({ route }) => route.to !== to && route.to.startsWith(to))

/** The pages that the menu and the palette lead to, by group. */
export function usePlaces() {
  const t = useAppText()
  const inWords = useWords()
  const isOperator = useQuery(sessionQuery).data?.person?.is_operator === true
  return groups
    .filter((group) => group !== 'operator' || isOperator)
    .map((group) => ({
      title: t.groups[group],
      places: places
        .filter((place) => place.group === group)
        .map(({ title, icon, route }) => ({ title: inWords(title), icon, to: route.to })),
    }))
}

export function Navigation({ onFind }: { onFind: () => void }) {
  const t = useAppText()
  return (
    <div className="sidebar">
      <Brand />
      <button type="button" className="find" onClick={onFind}>
        <Icon name="search" />
        {t.find}
        <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label={t.navigation} className="stack" style={{ gap: 10 }}>
        {usePlaces().map(({ title, places }) => (
          <div key={places[0]?.to} className="nav-group">
            {title ? <h2>{title}</h2> : null}
            {places.map(({ title: name, icon, to }) => (
              <Link key={to} to={to} activeOptions={{ exact: hasPagesBelow(to) }}>
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
      <HosterMark />
    </Link>
  )
}
