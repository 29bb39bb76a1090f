import type { Operation, OperationFilter } from '@berth/sdk'
import { Command } from 'commander'
import { Refusal } from './errors.ts'
import { idOf, UUID } from './find.ts'
import type { Columns } from './output.ts'
import { serverKind } from './server/kind.ts'
import { action, listCommand, type Session } from './session.ts'
import { waitFor } from './wait.ts'

const columns: Columns<Operation> = {
  id: ({ operation_id }) => operation_id,
  type: ({ type }) => type,
  server: ({ server_id }) => server_id,
  status: ({ status }) => status,
  progress: ({ progress }) => `${progress}%`,
  step: ({ step }) => step,
  error: ({ error }) => error?.message,
  created: ({ created_at }) => created_at,
  finished: ({ finished_at }) => finished_at,
}

/** Shows an operation: on its own, or after the command that started it. */
export function showOperation({ show }: Session, operation: Operation): Promise<void> {
  return show(operation, {
    Operation: ({ operation_id }) => operation_id,
    Server: ({ server_id }) => server_id,
    Type: ({ type }) => type,
    Status: ({ status }) => status,
    Progress: ({ progress }) => `${progress}%`,
    Step: ({ step }) => step,
    Error: ({ error }) => error && `${error.message} (${error.code})`,
  })
}

export function operationCommand(): Command {
  return new Command('operation')
    .description('view operations on servers')
    .addCommand(listOperations())
    .addCommand(showCommand())
    .addCommand(waitCommand())
}

function listOperations(): Command {
  return listCommand({
    description: 'list all operations, or those of a server, newest first',
    columns,
    shown: ['id', 'type', 'server', 'status', 'progress', 'error', 'created'],
    items: async ({ berth }, { status, type }: Pick<OperationFilter, 'status' | 'type'>, server?: string) => {
      const subject_id = server === undefined ? undefined : await idOf(berth, serverKind, server)
      return berth.operations.listAll({ subject_id, status, type })
    },
  })
    .argument('[server]', 'name or id; for a deleted server, its id')
    .option('--status <status>', 'only operations with this status')
    .option('--type <type>', 'only operations of this type, such as resize')
}

function showCommand(): Command {
  return new Command('show')
    .description('show an operation')
    .argument('<operation>', 'id of the operation')
    .action(
      action(async (session, operation_id: string) => {
        checkOperation(operation_id)
        await showOperation(session, await session.berth.operations.get(operation_id))
      }),
    )
}

function waitCommand(): Command {
  return new Command('wait')
    .description('wait for an operation to finish; exits with 7 if it fails')
    .argument('<operation>', 'id of the operation')
    .action(
      action(async (session, operation_id: string) => {
        checkOperation(operation_id)
        await showOperation(session, await waitFor(session, { operation_id }))
      }),
    )
}

/** Operations have no names. @throws Refusal if it is not an id */
function checkOperation(given: string): void {
  if (UUID.test(given)) return
  throw new Refusal(`"${given}" is not a valid operation id.`, 'List them with: berth operation list')
}
