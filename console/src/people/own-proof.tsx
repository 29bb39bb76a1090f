import type { Person } from '@berth/sdk'
import { useState } from 'react'
import { CodeField } from './code-field.tsx'
import { OwnPassword } from './own-password.tsx'
import { useSecurityText } from './security-text.ts'

type Prover = Pick<Person, 'has_password' | 'two_factor'>

/** Proof of the person's factors. */
export function useProof({ has_password: hasPassword, two_factor }: Prover) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const hasCode = two_factor !== null
  return {
    password,
    setPassword,
    code,
    setCode,
    given: { ...(hasPassword ? { password } : {}), ...(hasCode ? { code } : {}) },
    isReady: (password !== '' || !hasPassword) && (code !== '' || !hasCode),
  }
}

interface OwnProofProps {
  person: Prover
  proof: ReturnType<typeof useProof>
}

/** The fields for the proof. */
export function OwnProof({ person, proof }: OwnProofProps) {
  const t = useSecurityText()
  return (
    <>
      <OwnPassword person={person} value={proof.password} onChange={proof.setPassword} />
      {person.two_factor ? <CodeField label={t.code} value={proof.code} onChange={proof.setCode} /> : null}
    </>
  )
}
