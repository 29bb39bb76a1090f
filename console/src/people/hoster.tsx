import type { SignInOptions } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import mark from '../ui/mark.svg'
import { signInOptionsQuery } from './queries.ts'
import { usePeopleText } from './text.ts'

type Hoster = SignInOptions['operator']

/** The hoster of this installation; undefined until it is known. */
export function useHoster(): Hoster | undefined {
  return useQuery(signInOptionsQuery).data?.operator
}

/** The hoster's logo and name, or ours. */
export function HosterMark() {
  const hoster = useHoster()
  return (
    <>
      <img src={hoster?.logo_url ?? mark} alt="" />
      {hoster?.name ?? 'Berth'}
    </>
  )
}

/** A link to the hoster's address or page; a word of ours if there is none. */
export function Contact() {
  const t = usePeopleText()
  const contact = useHoster()?.contact
  if (!contact) return t.operator
  const href = contact.startsWith('https://') ? contact : `mailto:${contact}`
  return <a href={href}>{contact}</a>
}

/** A link to the terms that a new person accepts. */
export function TermsLink({ terms }: { terms: NonNullable<Hoster['terms']> }) {
  const t = usePeopleText()
  return (
    <a href={terms.url} target="_blank" rel="noreferrer">
      {t.terms}
    </a>
  )
}
