import './security.css'
import { useQuery } from '@tanstack/react-query'
import { personQuery } from '../session.ts'
import { Page } from '../ui/page.tsx'
import { Loaded } from '../ui/states.tsx'
import { DeleteCard } from './delete-card.tsx'
import { EmailCard } from './email-card.tsx'
import { MailsCard } from './mails-card.tsx'
import { PasskeysCard } from './passkeys-card.tsx'
import { PasswordCard } from './password-card.tsx'
import { ProviderCard } from './provider-card.tsx'
import { useSecurityText } from './security-text.ts'
import { SessionsCard } from './sessions-card.tsx'
import { TwoFactorCard } from './two-factor-card.tsx'

/** The user's ways to sign in, and their sessions. */
export function SecurityPage() {
  const t = useSecurityText()
  const query = useQuery(personQuery)
  return (
    <Page title={t.security} about={t.securityAbout}>
      <Loaded query={query}>
        {(person) => (
          <div className="stack">
            <EmailCard person={person} />
            <MailsCard person={person} />
            <PasswordCard person={person} />
            <TwoFactorCard person={person} />
            <PasskeysCard person={person} />
            {person.identity_provider ? (
              <ProviderCard person={person} name={person.identity_provider} />
            ) : null}
            <SessionsCard />
            <DeleteCard person={person} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}
