import { useMutation, useQuery } from '@tanstack/react-query'
import { Button } from '../ui/button.tsx'
import { Failed } from '../ui/states.tsx'
import { goToProvider } from './provider.ts'
import { signInOptionsQuery } from './queries.ts'
import { usePeopleText } from './text.ts'

/** Signs in or up with an identity at the operator's OpenID Connect provider. */
export function ProviderButton({ next = '/' }: { next?: string | undefined }) {
  const t = usePeopleText()
  const provider = useQuery(signInOptionsQuery).data?.provider
  const go = useMutation({ mutationFn: () => goToProvider(next) })
  if (!provider) return null
  // The provider redirects to a single origin, which must be the origin of this tab.
  const isHere = provider.origin === location.origin
  return (
    <>
      <Button
        isBusy={go.isPending || go.isSuccess}
        onClick={() => (isHere ? go.mutate() : location.assign(`${provider.origin}/sign-in`))}
      >
        {t.withProvider(provider.name)}
      </Button>
      {go.error ? <Failed error={go.error} /> : null}
    </>
  )
}
