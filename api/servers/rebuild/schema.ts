import Type, { type Static } from 'typebox'
import { SshKeyId } from '../../accounts/schema.ts'
import { nullable } from '../../http/contract/fields.ts'
import { template, templateRules } from '../order-schema.ts'

export const RebuildRequest = Type.Object(
  {
    ...template,
    ssh_key_ids: Type.Optional(
      Type.Array(SshKeyId, {
        maxItems: 20,
        uniqueItems: true,
        description:
          'SSH keys that may log in to the new system. With an empty list the server gets a new password, which its details show. Default: the keys that it has, or a new password if it has none',
      }),
    ),
    user_data: Type.Optional(
      nullable(Type.String({ maxLength: 65_536 }), {
        description:
          'User data for cloud-init, up to 64 KiB; null for none. Default: the user data that the server was created with',
      }),
    ),
  },
  {
    title: 'RebuildRequest',
    description: 'The new operating system of a server, and who can log in to it',
    examples: [{ template: 'debian-12' }],
    allOf: templateRules,
  },
)
export type RebuildRequest = Static<typeof RebuildRequest>
