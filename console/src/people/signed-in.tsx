import { useMutation, useQuery } from '@tanstack/react-query'
import { berth } from '../client.ts'
import { personQuery, sessionQuery } from '../session.ts'
import { setAccountOfTab } from '../tab.ts'
import { IconButton } from '../ui/button.tsx'
import { Select } from '../ui/field.tsx'
import { useSignOut } from './sign-out.ts'
import { usePeopleText } from './text.ts'

/** The signed-in user, their account, and the sign-out button. */
export function SignedIn() {
  const t = usePeopleText()
  const { data: person } = useQuery(personQuery)
  const { data: account } = useQuery(sessionQuery)
  const signOut = useSignOut()
  const choose = useMutation({
    mutationFn: (account_id: string) => berth.person.chooseAccount({ account_id }),
    // This tab and tabs opened later switch to the account; the others stay in theirs.
    onSuccess: (_person, account_id) => {
      setAccountOfTab(account_id)
      location.assign('/')
    },
  })
  if (!person) return null
  return (
    <div className="signed-in">
      {person.accounts.length > 1 ? (
        <Select
          aria-label={t.account}
          value={account?.account_id ?? ''}
          // An account that refuses is none of the choices, so that any can be chosen.
          options={[
            ...(account ? [] : [{ value: '', title: '—' }]),
            ...person.accounts.map(({ account_id, name }) => ({ value: account_id, title: name })),
          ]}
          onChange={(id) => choose.mutate(id)}
        />
      ) : null}
      <div className="row between">
        <span className="who" title={person.email}>
          <strong>{person.name}</strong>
          {person.email === person.name ? null : <span className="muted small">{person.email}</span>}
        </span>
        <IconButton
          icon="out"
          label={t.signOut}
          disabled={signOut.isPending}
          onClick={() => signOut.mutate()}
        />
      </div>
    </div>
  )
}
