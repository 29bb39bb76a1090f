import type { Clock } from '../../clock.ts'
import type { Queries } from '../../database/database.ts'
import type { Visit } from '../../http/contract/route.ts'
import { widestOf } from '../../http/limits/rate-limit.ts'
import { enqueueMail } from '../../mail/queue.ts'
import type { Secrets } from '../../secrets.ts'
import { newSignInMail } from '../letters/new-sign-in.ts'
import { setPlaces } from '../person/people.ts'
import { visitsOf } from '../person/sessions.ts'
import type { PersonTable, Place } from '../person/tables.ts'

const DAY = 24 * 3600_000
/** The number of places kept for each person. The least recently used ones are forgotten. */
const MOST_PLACES = 20
/** The most mails to a person within a day. */
const MOST_MAILS = 5

interface Options {
  clock: Clock
  secrets: Secrets
  /** Address at which people open the console. */
  siteUrl: () => string
}

/**
 * Mails a person about a sign-in from a network or browser that they had not used before, except about the first.
 * Once the mails of a day are used up, the place stays new.
 * @param person must be locked (`heldPerson`)
 */
export async function notePlace(
  tx: Queries,
  options: Options,
  person: PersonTable,
  visit: Visit,
): Promise<void> {
  const now = options.clock.now()
  const known: Place[] = JSON.parse(person.places)
  const here = placeOf(visit)
  const same = known.find(({ network, browser }) => network === here.network && browser === here.browser)
  if (same && isWithinDay(same.at, now)) return
  const isNew = !same && isNewPlace(here, known.length > 0 ? known : await earlierPlaces(tx, person))
  if (isNew && known.filter(({ mailed_at }) => isWithinDay(mailed_at, now)).length >= MOST_MAILS) return
  const noted = { ...here, at: now, mailed_at: isNew ? now : (same?.mailed_at ?? null) }
  const others = known.filter((place) => place !== same)
  const places = [noted, ...others].sort((one, other) => other.at - one.at).slice(0, MOST_PLACES)
  await setPlaces(tx, person.person_id, JSON.stringify(places))
  if (!isNew) return
  const { browser } = here
  const facts = { at: now, address: visit.address, browser: browser === '' ? null : browser }
  const link = new URL('/account/security', options.siteUrl())
  await enqueueMail(tx, options, newSignInMail(person, facts, link))
}

const isWithinDay = (at: number | null, now: number) => at !== null && Math.abs(now - at) < DAY

type Seen = Pick<Place, 'network' | 'browser'>

/** True if the network or the browser was not seen before. A first sign-in is not new. */
function isNewPlace({ network, browser }: Seen, seen: readonly Seen[]): boolean {
  if (seen.length === 0) return false
  return !seen.some((one) => one.network === network) || !seen.some((one) => one.browser === browser)
}

/** The places of open sessions, for people who signed in before places were kept. */
async function earlierPlaces(tx: Queries, { person_id: personId }: PersonTable): Promise<Seen[]> {
  const visits = await visitsOf(tx, personId)
  return visits.map(({ address, user_agent }) => placeOf({ address, userAgent: user_agent }))
}

function placeOf({ address, userAgent }: Pick<Visit, 'address' | 'userAgent'>): Seen {
  return { network: widestOf(address), browser: browserOf(userAgent) }
}

/** The order matters, since browsers also name others in their user agent. */
const BROWSERS = {
  ...{ YaBrowser: 'Yandex', Edg: 'Edge', OPR: 'Opera', Firefox: 'Firefox', FxiOS: 'Firefox' },
  ...{ CriOS: 'Chrome', Chrome: 'Chrome', Safari: 'Safari' },
}
const SYSTEMS = {
  ...{ Windows: 'Windows', Android: 'Android', iPhone: 'iPhone', iPad: 'iPad', CrOS: 'ChromeOS' },
  ...{ 'Mac OS': 'macOS', Linux: 'Linux' },
}

/**
 * Browser and system in our own words, such as "Firefox, Linux", without versions; empty if neither is known. The words
 * of a browser are never mailed, since strangers choose them.
 */
export function browserOf(userAgent: string): string {
  const nameIn = (names: Readonly<Record<string, string>>) =>
    Object.entries(names).find(([mark]) => userAgent.includes(mark))?.[1]
  return [nameIn(BROWSERS), nameIn(SYSTEMS)].filter(Boolean).join(', ')
}
