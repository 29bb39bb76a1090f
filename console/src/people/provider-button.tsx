import { useMutation, useQuery } from '@tanstack/react-query'
import { Button } from '../ui/button.tsx'
import { Failed } from '../ui/states.tsx'
import { TermsLink } from './hoster.tsx'
import { goToProvider } from './provider.ts'
import { signInOptionsQuery } from './queries.ts'
import { usePeopleText } from './text.ts'

/** Signs in or up with an identity at the operator's OpenID Connect provider. */
export function ProviderButton({ next = '/' }: { next?: string | undefined }) {
  const t = usePeopleText()
  const options = useQuery(signInOptionsQuery).data
  const { provider, operator, sign_up } = options ?? {}
  const terms = sign_up === 'open' ? operator?.terms : null
  const go = useMutation({ mutationFn: () => goToProvider(next, terms?.version) })
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
      {terms ? (
        <p className="muted small">
          {t.byContinuing} <TermsLink terms={terms} />
        </p>
      ) : null}
      {go.error ? <Failed error={go.error} /> : null}
    </>
  )
}
