import Type, { type Static } from 'typebox'
import { SshKeyId } from '../../accounts/schema.ts'

export const RescueRequest = Type.Object(
  {
    ssh_key_ids: Type.Optional(
      Type.Array(SshKeyId, {
        maxItems: 20,
        uniqueItems: true,
        description:
          'SSH keys that may log in to the rescue system. Default: none; it then gets a generated password, which the details of the server show',
      }),
    ),
  },
  {
    title: 'RescueRequest',
    description: 'Who can log in to the rescue system; the body can be omitted',
    examples: [{}],
  },
)
export type RescueRequest = Static<typeof RescueRequest>

export const UnrescueRequest = Type.Object(
  {},
  { title: 'UnrescueRequest', description: 'There are no options; the body can be omitted' },
)
