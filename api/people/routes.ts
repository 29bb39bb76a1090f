import type { Route } from '../http/contract/route.ts'
import { deviceRoutes } from './devices/routes.ts'
import { KnownPlaces } from './guard/known-places.ts'
import { MailBounds } from './guard/mail-bounds.ts'
import { Proof } from './guard/proof.ts'
import { Tickets } from './guard/tickets.ts'
import { invitationRoutes } from './invitations/routes.ts'
import { memberRoutes } from './membership/routes.ts'
import { Passkeys } from './passkeys/passkeys.ts'
import { passkeyRoutes } from './passkeys/routes.ts'
import { EmailChange } from './profile/email-change.ts'
import { type PeopleOptions, personRoutes } from './profile/routes.ts'
import { sessionRoutes } from './profile/session-routes.ts'
import { Provider } from './provider/provider.ts'
import { identityRoutes } from './provider/routes.ts'
import { Admission } from './sign-in/admission.ts'
import { PasswordResets } from './sign-in/password-reset.ts'
import { providerSignInRoutes } from './sign-in/provider-routes.ts'
import { resetRoutes, signInRoutes } from './sign-in/routes.ts'
import { SignIns } from './sign-in/sign-in.ts'
import { SignUps } from './sign-in/sign-up.ts'
import { twoFactorRoutes } from './two-factor/routes.ts'
import { TwoFactor } from './two-factor/two-factor.ts'

/** The routes for signing in, for a person's own settings, and for members of accounts. */
export function peopleRoutes(options: PeopleOptions): Route[] {
  const proof = new Proof(options)
  const twoFactor = new TwoFactor(options, proof)
  const tickets = new Tickets(options)
  const known = new KnownPlaces(options.db)
  const mailBounds = new MailBounds(options, known)
  const passkeys = new Passkeys(options, { proof, tickets, twoFactor })
  const emailChange = new EmailChange(options, { proof, twoFactor, mailBounds })
  const { oidc } = options
  const provider = oidc && new Provider({ ...options, provider: oidc })
  const admission = new Admission(options, { tickets, known })
  const signIns = new SignIns(options, { admission, tickets, twoFactor, passkeys, provider, known })
  const signUps = new SignUps(options, { admission, mailBounds })
  const resets = new PasswordResets(options, { admission, mailBounds })
  return [
    ...signInRoutes(options, { signIns, signUps, passkeys, provider }),
    ...providerSignInRoutes(options, { provider, tickets, signIns }),
    ...identityRoutes({ ...options, tickets, proof, twoFactor }),
    ...resetRoutes(options, resets),
    ...deviceRoutes(options),
    ...personRoutes(options, { proof, twoFactor, emailChange }),
    ...twoFactorRoutes(twoFactor),
    ...passkeyRoutes(passkeys),
    ...sessionRoutes(options),
    ...memberRoutes(options),
    ...invitationRoutes(options),
  ]
}
