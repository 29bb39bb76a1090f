import type { Operation } from '@berth/sdk'
import { Command } from 'commander'
import { Refusal } from './errors.ts'
import { idOf, UUID } from './find.ts'
import type { Columns } from './output.ts'
import { action, listCommand, type Session } from './session.ts'
import { waitFor } from './wait.ts'

const columns: Columns<Operation> = {
  id: ({ operation_id }) => operation_id,
  type: ({ type }) => type,
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
    description: 'list operations of a server, newest first',
    columns,
    shown: ['id', 'type', 'status', 'progress', 'error', 'created', 'finished'],
    items: async ({ berth }, _options, server = '') =>
      berth.operations.listAll(await idOf(berth, 'server', server)),
  }).argument('<server>', 'name or id; for a deleted server, its id')
}

function showCommand(): Command {
  return new Command('show')
    .description('show an operation')
    .argument('<server>', 'name or id of the server')
    .argument('<operation>', 'id of the operation')
    .action(
      action(async (session, server: string, operation: string) => {
        checkOperation(server, operation)
        const server_id = await idOf(session.berth, 'server', server)
        await showOperation(session, await session.berth.operations.get(server_id, operation))
      }),
    )
}

function waitCommand(): Command {
  return new Command('wait')
    .description('wait for an operation to finish; exits with 7 if it fails')
    .argument('<server>', 'name or id of the server')
    .argument('<operation>', 'id of the operation')
    .action(
      action(async (session, server: string, operation_id: string) => {
        checkOperation(server, operation_id)
        const server_id = await idOf(session.berth, 'server', server)
        await showOperation(session, await waitFor(session, { server_id, operation_id }))
      }),
    )
}

/** Operations have no names. @throws Refusal if it is not an id */
function checkOperation(server: string, given: string): void {
  if (UUID.test(given)) return
  throw new Refusal(
    `"${given}" is not a valid operation id.`,
    `List them with: berth operation list ${server}`,
  )
}
