import type { OpenInvitation } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { Failed, Loaded } from '../ui/states.tsx'
import { ChoosePassword } from './choose-password.tsx'
import { takeSecret } from './queries.ts'
import { SignFrame } from './sign-frame.tsx'
import { SignInForm } from './sign-in-form.tsx'
import { useEnter } from './sign-in-page.tsx'
import { usePeopleText } from './text.ts'

/** The page of an invitation's link: new users choose a password, others sign in and accept. */
export function InvitationPage() {
  const t = usePeopleText()
  const [token] = useState(takeSecret)
  const query = useQuery({
    queryKey: ['invitation'],
    queryFn: ({ signal }) => berth.invitations.look({ token }, { signal }),
  })
  return (
    <SignFrame title={t.invitation}>
      <Loaded query={query}>
        {(invitation) => (
          <>
            <p className="muted">{t.invitedTo(invitation.account_name, invitation.email)}</p>
            {invitation.has_person ? (
              <Accept token={token} invitation={invitation} />
            ) : (
              <ChoosePassword
                submit={t.accept}
                hasName
                choose={(password, name, terms) =>
                  berth.invitations.accept({ token, name, password, ...terms })
                }
              />
            )}
          </>
        )}
      </Loaded>
    </SignFrame>
  )
}

function Accept({ token, invitation }: { token: string; invitation: OpenInvitation }) {
  const t = usePeopleText()
  const enter = useEnter()
  const accept = useMutation({ mutationFn: () => berth.invitations.accept({ token }), onSuccess: enter })
  // Users who are not signed in with that address sign in first.
  if (accept.error)
    return (
      <>
        <Failed error={accept.error} />
        <SignInForm email={invitation.email} onSignedIn={() => accept.mutate()} />
      </>
    )
  return (
    <Button kind="primary" isBusy={accept.isPending} onClick={() => accept.mutate()}>
      {t.accept}
    </Button>
  )
}
