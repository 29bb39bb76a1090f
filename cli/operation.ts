import type { Operation, OperationFilter } from '@berth/sdk'
import { Command } from 'commander'
import { Refusal } from './errors.ts'
import { idOf, UUID } from './find.ts'
import type { Columns } from './output.ts'
import { action, listCommand, type Session } from './session.ts'
import { waitFor } from './wait.ts'

const columns: Columns<Operation> = {
  id: ({ operation_id }) => operation_id,
  type: ({ type }) => type,
  server: ({ server_id }) => server_id,
  status: ({ status }) => status,
  progress: ({ progress }) => `${progress} %`,
  step: ({ step }) => step,
  error: ({ error }) => error?.message,
  created: ({ created_at }) => created_at,
  finished: ({ finished_at }) => finished_at,
}

/** How an operation is shown wherever one is: on its own, or after it was ordered. */
export function showOperation({ show }: Session, operation: Operation): Promise<void> {
  return show(operation, {
    Operation: ({ operation_id }) => operation_id,
    Server: ({ server_id }) => server_id,
    Type: ({ type }) => type,
    Status: ({ status }) => status,
    Progress: ({ progress }) => `${progress} %`,
    Step: ({ step }) => step,
    Error: ({ error }) => error && `${error.message} (${error.code})`,
  })
}

export function operationCommand(): Command {
  return new Command('operation')
    .description('what was done with servers, and what is being done')
    .addCommand(listOperations())
    .addCommand(showCommand())
    .addCommand(waitCommand())
}

function listOperations(): Command {
  return listCommand({
    description: 'all operations, or those of a server, the newest first',
    columns,
    shown: ['id', 'type', 'server', 'status', 'progress', 'error', 'created'],
    items: async ({ berth }, { status, type }: Pick<OperationFilter, 'status' | 'type'>, server?: string) => {
      const subject_id = server === undefined ? undefined : await idOf(berth, 'server', server)
      return berth.operations.listAll({ subject_id, status, type })
    },
  })
    .argument('[server]', 'name or id; the id also of one that is gone')
    .option('--status <status>', 'only those of this status')
    .option('--type <type>', 'only those of this type, such as resize')
}

function showCommand(): Command {
  return new Command('show')
    .description('an operation as it stands')
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
    .description('wait for the end of an operation; ends with 7 if it fails')
    .argument('<operation>', 'id of the operation')
    .action(
      action(async (session, operation_id: string) => {
        checkOperation(operation_id)
        await showOperation(session, await waitFor(session, { operation_id }))
      }),
    )
}

/** Operations have no names. @throws Refusal where it is no id */
function checkOperation(given: string): void {
  if (UUID.test(given)) return
  throw new Refusal(`"${given}" is no id of an operation.`, 'See those that are with: berth operation list')
}
