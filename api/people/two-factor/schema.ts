import Type from 'typebox'
import { Code, OwnPassword } from '../guard/schema.ts'

export const CodeProof = Type.Object(
  { password: OwnPassword, code: Code },
  { title: 'CodeProof', description: 'Proof of identity with both factors' },
)

export const TwoFactorConfirmation = Type.Object(
  { code: Code },
  { title: 'TwoFactorConfirmation', description: 'A first code from the app' },
)

export const TwoFactorSecret = Type.Object(
  {
    secret: Type.String({
      description: 'The secret in base 32, to be typed into an app',
      examples: ['GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'],
    }),
    uri: Type.String({
      description: 'The same as an otpauth URI, to be shown as a QR code',
      examples: [
        'otpauth://totp/cloud.example:ann%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=cloud.example',
      ],
    }),
  },
  { title: 'TwoFactorSecret', description: 'Secret for the app; shown only once' },
)

export const RecoveryCodes = Type.Object(
  {
    recovery_codes: Type.Array(Type.String({ examples: ['w8kTz-5nQbR-Hc3mY-dV7xJ'] }), {
      description: 'Ten codes, each of which replaces a code of the app once',
    }),
  },
  { title: 'RecoveryCodes', description: 'Codes to use if the app is lost; shown only once' },
)
