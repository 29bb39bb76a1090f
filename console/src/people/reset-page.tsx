import { useState } from 'react'
import { berth } from '../client.ts'
import { ChoosePassword } from './choose-password.tsx'
import { takeSecret } from './queries.ts'
import { SendLink } from './send-link.tsx'
import { SignFrame } from './sign-frame.tsx'
import { usePeopleText } from './text.ts'

export function ResetPage() {
  const t = usePeopleText()
  const [token] = useState(takeSecret)
  if (token === '')
    return (
      <SignFrame title={t.reset} about={t.resetAbout}>
        <SendLink send={(request) => berth.signIn.resetPassword(request)} />
      </SignFrame>
    )
  return (
    <SignFrame title={t.choose}>
      <ChoosePassword
        submit={t.choose}
        choose={(password) => berth.signIn.completeReset({ token, password })}
      />
    </SignFrame>
  )
}
