import { useQuery } from '@tanstack/react-query'
import { Button } from '../ui/button.tsx'
import { Note } from '../ui/states.tsx'
import { Time } from '../ui/time.tsx'
import { sessionsQuery } from './queries.ts'
import { useSecurityText } from './security-text.ts'
import { useSignOut } from './sign-out.ts'

/** A notice for users without a password, who need a recent sign-in instead. It stands above the form. */
export function RecentSignIn() {
  const t = useSecurityText()
  const session = useQuery(sessionsQuery).data?.items.find(({ is_current }) => is_current)
  const signOut = useSignOut('/account/security')
  return (
    <Note>
      <div className="stack" style={{ gap: 8 }}>
        <span>{t.recentAbout}</span>
        <span className="row">
          <Button isBusy={signOut.isPending} onClick={() => signOut.mutate()}>
            {t.signInAgain}
          </Button>
          {session ? (
            <span className="muted small">
              {t.began}: <Time at={session.created_at} />
            </span>
          ) : null}
        </span>
      </div>
    </Note>
  )
}
