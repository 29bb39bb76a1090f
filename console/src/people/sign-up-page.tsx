import { useState } from 'react'
import { berth } from '../client.ts'
import { ChoosePassword } from './choose-password.tsx'
import { ProviderButton } from './provider-button.tsx'
import { takeSecret } from './queries.ts'
import { SendLink } from './send-link.tsx'
import { SignFrame } from './sign-frame.tsx'
import { usePeopleText } from './text.ts'

/** Sends a link by mail, or, opened with the secret of such a link, completes the sign-up. */
export function SignUpPage() {
  const t = usePeopleText()
  const [token] = useState(takeSecret)
  if (token === '')
    return (
      <SignFrame title={t.signUp} about={t.signUpAbout}>
        <SendLink send={(request) => berth.signIn.signUp(request)} />
        <ProviderButton />
      </SignFrame>
    )
  return (
    <SignFrame title={t.finish}>
      <ChoosePassword
        submit={t.finish}
        hasName
        choose={(password, name, terms) => berth.signIn.completeSignUp({ token, name, password, ...terms })}
      />
    </SignFrame>
  )
}
