import Type, { type Static } from 'typebox'
import { CreatedAt, nullable, timestamp, uuid, visibleName } from '../../http/contract/fields.ts'
import { SealedTicket } from '../guard/schema.ts'

/** The limit is longer than anything that browsers send. */
const MAX_BYTES = 8_000

function base64url(description: string, example: string, maxLength = MAX_BYTES) {
  return Type.String({
    minLength: 1,
    maxLength,
    pattern: '^[A-Za-z0-9_-]+$',
    description: `${description}, in base64url`,
    examples: [example],
  })
}

const CredentialId = base64url('Id that the authenticator gave the key', 'hVbpN4_3R1uXlZ0yV2m1lQ', 1_500)
const ClientData = base64url('`clientDataJSON` as the browser returned it', 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0')
const Challenge = base64url('Random bytes for the browser to sign', '3q2-7xE0m7mTn1mO2v5W3w')
const RelyingParty = Type.String({ description: 'Host that the key is for', examples: ['cloud.example'] })

export const Passkey = Type.Object(
  {
    passkey_id: uuid('01a1fb44-5b40-7c6d-9e8f-0a1b2c3d4e5f', 'Id of the passkey'),
    name: Type.String({ description: 'Name that the person gave it', examples: ['Phone'] }),
    is_synced: Type.Boolean({
      description: 'Whether the passkey is synchronized between devices, so that it survives the loss of one',
      examples: [true],
    }),
    created_at: CreatedAt,
    last_used_at: nullable(timestamp('When it was last used to sign in'), {
      description: 'When it was last used to sign in; null if never',
    }),
  },
  { title: 'Passkey', description: 'A key that the person signs in with, without password and code' },
)
export type Passkey = Static<typeof Passkey>

export const PasskeySetUp = Type.Object(
  {
    ticket: SealedTicket,
    challenge: Challenge,
    relying_party: RelyingParty,
    user_handle: base64url('Id of the person, as authenticators keep it', 'AaH7RFsAfx6ai3xtXk86Kw'),
    user_name: Type.String({
      description: 'Name of the person that the device shows',
      examples: ['ann@example.com'],
    }),
    exclude_credentials: Type.Array(CredentialId, {
      description: 'Existing keys of the person, so that no device creates a second one',
    }),
  },
  {
    title: 'PasskeySetUp',
    description: 'Options for a passkey: discoverable, with user verification',
  },
)

export const PasskeyCreate = Type.Object(
  {
    ticket: SealedTicket,
    name: visibleName(64, 'Phone'),
    credential: CredentialId,
    client_data: ClientData,
    attestation: base64url('`attestationObject` as the browser returned it', 'o2NmbXRkbm9uZQ'),
  },
  { title: 'PasskeyCreate', description: 'A passkey as the browser created it' },
)

export const PasskeyUpdate = Type.Object(
  { name: visibleName(64, 'Phone') },
  { title: 'PasskeyUpdate', description: 'The new name' },
)

export const PasskeyChallenge = Type.Object(
  { ticket: SealedTicket, challenge: Challenge, relying_party: RelyingParty },
  { title: 'PasskeyChallenge', description: 'A challenge for a browser to sign with a passkey' },
)

export const PasskeyUse = Type.Object(
  {
    ticket: SealedTicket,
    credential: CredentialId,
    client_data: ClientData,
    authenticator_data: base64url('`authenticatorData` as the browser returned it', 'SZYN5YgOjGh0NBcPZHZgW4'),
    signature: base64url('`signature` as the browser returned it', 'MEUCIQDx'),
  },
  { title: 'PasskeyUse', description: 'A challenge, signed with a passkey' },
)
