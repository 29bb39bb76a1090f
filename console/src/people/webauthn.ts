import type { OwnProof } from '@berth/sdk'
import { berth } from '../client.ts'

/** It is loaded on first use. */
const webauthn = () => import('@simplewebauthn/browser')

/** Lets the browser create a passkey, and stores it. */
export async function addPasskey(name: string, proof: OwnProof): Promise<unknown> {
  const begun = await berth.passkeys.begin(proof)
  const { startRegistration } = await webauthn()
  const { id, response } = await startRegistration({
    optionsJSON: {
      challenge: begun.challenge,
      rp: { id: begun.relying_party, name: begun.relying_party },
      user: { id: begun.user_handle, name: begun.user_name, displayName: begun.user_name },
      // Ed25519, P-256 and RSA: every device supports one of them.
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ alg, type: 'public-key' })),
      excludeCredentials: begun.exclude_credentials.map((known) => ({ id: known, type: 'public-key' })),
      authenticatorSelection: {
        residentKey: 'required',
        requireResidentKey: true,
        userVerification: 'required',
      },
      attestation: 'none',
    },
  })
  return berth.passkeys.create({
    ticket: begun.ticket,
    name,
    credential: id,
    client_data: response.clientDataJSON,
    attestation: response.attestationObject,
  })
}

/** Lets the browser ask for a passkey, and signs in with it. */
export async function signInWithPasskey(): Promise<unknown> {
  const { ticket, challenge, relying_party } = await berth.signIn.beginPasskey()
  const { startAuthentication } = await webauthn()
  const { id, response } = await startAuthentication({
    optionsJSON: { challenge, rpId: relying_party, userVerification: 'required' },
  })
  return berth.signIn.withPasskey({
    ticket,
    credential: id,
    client_data: response.clientDataJSON,
    authenticator_data: response.authenticatorData,
    signature: response.signature,
  })
}

/** Closing the browser's dialog is not an error. */
export function isCanceled(error: Error | null): boolean {
  return error?.name === 'NotAllowedError' || error?.name === 'AbortError'
}
