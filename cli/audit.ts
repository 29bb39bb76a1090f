import type { AuditEntry } from '@berth/sdk'
import { Command } from 'commander'
import { addLimitOption, type LimitOptions, upTo } from './flags.ts'
import type { Columns } from './output.ts'
import { listCommand } from './session.ts'

const columns: Columns<AuditEntry> = {
  id: ({ audit_id }) => audit_id,
  action: ({ action }) => action,
  object_type: ({ object_type }) => object_type,
  object: ({ object_id }) => object_id,
  amount: ({ amount }) => amount,
  token: ({ token_id }) => token_id,
  person: ({ person_email }) => person_email,
  address: ({ address }) => address,
  request: ({ request_id }) => request_id,
  created: ({ created_at }) => created_at,
}

export function auditCommand(): Command {
  return new Command('audit').description('view the audit log').addCommand(
    addLimitOption(
      listCommand({
        description: 'list who changed what and from where, newest first',
        columns,
        shown: ['id', 'action', 'object', 'token', 'person', 'address', 'created'],
        items: async (session, options: LimitOptions) =>
          upTo(session, options, session.berth.audit.listAll()),
      }),
    ),
  )
}
