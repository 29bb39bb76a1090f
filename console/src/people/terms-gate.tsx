import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { berth } from '../client.ts'
import { personQuery } from '../session.ts'
import { Check } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Page } from '../ui/page.tsx'
import { TermsLink } from './hoster.tsx'
import { usePeopleText } from './text.ts'

/** Asks a person to accept the terms in force before it shows a page. */
export function TermsGate({ children }: { children: ReactNode }) {
  const t = usePeopleText()
  const client = useQueryClient()
  const terms = useQuery(personQuery).data?.terms_due
  const [hasAccepted, setHasAccepted] = useState(false)
  const accept = useMutation({
    mutationFn: (version: string) => berth.person.update({ accepted_terms: version }),
    onSuccess: (person) => client.setQueryData(personQuery.queryKey, person),
    // The terms may have changed again meanwhile.
    onError: () => client.invalidateQueries({ queryKey: personQuery.queryKey }),
  })
  if (!terms) return children
  return (
    <Page title={t.termsChanged} about={t.termsChangedAbout}>
      <Form
        submit={t.proceed}
        mutation={accept}
        isReady={hasAccepted}
        onSubmit={() => accept.mutate(terms.version)}
      >
        <Check checked={hasAccepted} onChange={(event) => setHasAccepted(event.target.checked)}>
          {t.acceptTerms} <TermsLink terms={terms} />
        </Check>
      </Form>
    </Page>
  )
}
