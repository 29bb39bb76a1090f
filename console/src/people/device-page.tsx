import type { DeviceLogin, Person } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { berth } from '../client.ts'
import { personQuery } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Facts } from '../ui/page.tsx'
import { Failed, Loaded, Note } from '../ui/states.tsx'
import { Time } from '../ui/time.tsx'
import { useDeviceText } from './device-text.ts'
import { useMembersText } from './members-text.ts'
import { takeSecret } from './queries.ts'
import { SignFrame } from './sign-frame.tsx'

/** Approves the login of a program without a browser: the user enters its code, checks it and decides. */
export function DevicePage() {
  const t = useDeviceText()
  const [code, setCode] = useState(takeSecret)
  const [done, setDone] = useState<'approved' | 'denied' | null>(null)
  const look = useMutation({ mutationFn: () => berth.deviceLogins.look({ user_code: code }) })
  const person = useQuery(personQuery)
  if (done)
    return (
      <SignFrame title={t[done]}>
        <p>{done === 'approved' ? t.approvedAbout : t.deniedAbout}</p>
      </SignFrame>
    )
  return (
    <SignFrame title={t.title} about={t.about}>
      {look.data ? (
        <Loaded query={person}>
          {(who) => <Decision login={look.data} person={who} code={code} onDone={setDone} />}
        </Loaded>
      ) : (
        <Form submit={t.next} mutation={look} isReady={code !== ''} onSubmit={() => look.mutate()}>
          <TextField
            label={t.code}
            hint={t.codeHint}
            autoFocus
            autoCapitalize="characters"
            spellCheck={false}
            value={code}
            onChange={(event) => setCode(event.target.value.toUpperCase())}
          />
        </Form>
      )}
    </SignFrame>
  )
}

interface DecisionProps {
  login: DeviceLogin
  person: Person
  code: string
  onDone: (decision: 'approved' | 'denied') => void
}

function Decision({ login, person, code, onDone }: DecisionProps) {
  const t = useDeviceText()
  const { roles } = useMembersText()
  const [accountId, setAccountId] = useState(person.account_id ?? person.accounts[0]?.account_id ?? '')
  const account = person.accounts.find(({ account_id }) => account_id === accountId)
  const approve = useMutation({
    mutationFn: () => berth.deviceLogins.approve({ user_code: code, account_id: accountId }),
    onSuccess: () => onDone('approved'),
  })
  const deny = useMutation({
    mutationFn: () => berth.deviceLogins.deny({ user_code: code }),
    onSuccess: () => onDone('denied'),
  })
  const error = approve.error ?? deny.error
  const facts: [string, ReactNode][] = [
    [t.program, login.client_name],
    [t.address, `${login.address} (${login.is_from_here ? t.hereToo : t.elsewhere})`],
    [t.started, <Time key="started" at={login.created_at} />],
    [t.allows, login.scopes?.join(', ') ?? t.byRole(account ? roles[account.role] : '')],
  ]
  return (
    <>
      <Facts facts={facts} />
      {account ? (
        <SelectField
          label={t.account}
          value={accountId}
          options={person.accounts.map(({ account_id, name }) => ({ value: account_id, title: name }))}
          onChange={setAccountId}
        />
      ) : (
        <Note>{t.noAccount}</Note>
      )}
      <Note tone="warn">{t.beware}</Note>
      {error ? <Failed error={error} /> : null}
      <div className="row">
        <Button
          kind="primary"
          disabled={!account}
          isBusy={approve.isPending}
          onClick={() => approve.mutate()}
        >
          {t.approve}
        </Button>
        <Button isBusy={deny.isPending} onClick={() => deny.mutate()}>
          {t.deny}
        </Button>
      </div>
    </>
  )
}
