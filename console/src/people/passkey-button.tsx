import { useMutation, useQuery } from '@tanstack/react-query'
import { Button } from '../ui/button.tsx'
import { Failed } from '../ui/states.tsx'
import { signInOptionsQuery } from './queries.ts'
import { usePeopleText } from './text.ts'
import { isCanceled, signInWithPasskey } from './webauthn.ts'

/** Signs in with whatever passkey the browser offers. */
export function PasskeyButton({ onSignedIn }: { onSignedIn: () => void }) {
  const t = usePeopleText()
  const isPossible = useQuery(signInOptionsQuery).data?.passkey_origin === location.origin
  const signIn = useMutation({ mutationFn: signInWithPasskey, onSuccess: onSignedIn })
  if (!isPossible) return null
  return (
    <>
      <Button icon="key" isBusy={signIn.isPending} onClick={() => signIn.mutate()}>
        {t.withPasskey}
      </Button>
      {signIn.error && !isCanceled(signIn.error) ? <Failed error={signIn.error} /> : null}
    </>
  )
}
