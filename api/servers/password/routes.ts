import { billingProblems } from '../../billing/schema.ts'
import { catalogProblems } from '../../catalog/schema.ts'
import { type Route, route } from '../../http/contract/route.ts'
import type { OperationSchemas } from '../../operations/schema.ts'
import { accepted, acceptedBefore, accepting, conflict, STATE_ERRORS } from '../operation-replies.ts'
import { serverLoader } from '../rows.ts'
import { serverProblems } from '../schema.ts'
import { type PasswordOptions, resetPassword } from './password.ts'

export interface PasswordRoutesOptions extends PasswordOptions {
  operationSchemas: OperationSchemas
}

export function passwordRoutes(options: PasswordRoutesOptions): Route[] {
  const { db, operationSchemas } = options
  return [
    route({
      id: 'resetServerPassword',
      method: 'POST',
      path: '/servers/:server_id/reset_password',
      scope: 'servers:write',
      tag: 'Servers',
      summary: 'Set a new password on a running server',
      description:
        'Generates a password for the user in `ssh.username` and sets it inside of the server, which keeps running. When the operation has `succeeded`, `password` in `GET /servers/{server_id}/details` is the new one. The serial console accepts it; SSH only if the server was created without SSH keys, or if its own settings allow passwords. A virtual machine needs `qemu-guest-agent`, which our images have.',
      params: { server_id: serverProblems.server_not_found },
      load: serverLoader(db),
      reply: { 202: operationSchemas.Operation },
      examples: { 202: accepting('reset_password') },
      problems: {
        server_state_conflict: conflict('reset_password', 'stopped'),
        not_supported: { feature: 'reset_password' },
      },
      errors: [...STATE_ERRORS, billingProblems.insufficient_balance, catalogProblems.not_supported],
      run: async ({ loaded, remember, setHeader }) =>
        accepted((await resetPassword(options, loaded, remember)).operation, setHeader),
      recover: acceptedBefore(options),
    }),
  ]
}
