import Type, { type Static } from 'typebox'
import { CreatedAt, nullable, timestamp, uuid } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'
import type { Procedures } from './procedure.ts'

export const OperationStatus = Type.Enum(['pending', 'running', 'succeeded', 'failed', 'canceled'], {
  description:
    'Queued (`pending`), in progress (`running`) or finished: `succeeded`, `failed`, or `canceled` by a later request',
  examples: ['running'],
})
export const Progress = Type.Integer({
  minimum: 0,
  maximum: 100,
  description: 'Estimated progress in percent; 100 once it has succeeded',
  examples: [40],
})
/** The operation of the examples. */
export const OPERATION = '01a1fb45-1ac4-7139-823a-0f4159fa3bf6'
export const OperationId = uuid(OPERATION, 'Id of the operation; wait for it by this id')
export const operationProblems = defineProblems({
  operation_not_found: { status: 404, title: 'No such operation' },
  operation_in_progress: {
    status: 409,
    title: 'Another operation is in progress',
    isRetried: true,
    members: { operation_id: nullable(OperationId, { description: 'The operation to wait for' }) },
  },
})
const SubjectId = uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403', 'Id of the resource that the operation is on')

/** Returns the wire format of operations. Their types and subjects come from the procedures of the features. */
export function operationSchemas(procedures: Procedures) {
  const SubjectType = Type.Enum(Object.keys(procedures), {
    description: 'Type of the resource that the operation is on',
  })
  const types = new Set(Object.values(procedures).flatMap((each) => Object.keys(each)))
  const OperationType = Type.Enum([...types], { description: 'Type of the operation' })
  const Operation = Type.Object(
    {
      operation_id: OperationId,
      subject_type: SubjectType,
      subject_id: SubjectId,
      server_id: nullable(SubjectId, {
        description: 'The server of the operation; null if it has none',
      }),
      type: OperationType,
      status: OperationStatus,
      progress: Progress,
      step: Type.String({
        description: 'The current step, for people; the steps of a type may change',
        examples: ['boot'],
      }),
      error: nullable(
        Type.Object({
          code: Type.String({ description: 'Stable code for programs, such as `boot_timeout`' }),
          message: Type.String({ description: 'What went wrong, for people' }),
        }),
        { description: 'Why it failed; null unless `status` is `failed`', examples: [null] },
      ),
      created_at: CreatedAt,
      started_at: nullable(timestamp('When work on it began'), {
        description: 'When work on it began; null while it is `pending`',
      }),
      finished_at: nullable(timestamp('When it finished'), {
        description: 'When it finished; null while it is `pending` or `running`',
        examples: [null],
      }),
    },
    {
      title: 'Operation',
      description:
        'Slow work on a resource: accepted with 202, then carried out even if the service restarts meanwhile',
    },
  )
  const OperationQuery = Type.Object({
    ...pagingQuery,
    status: Type.Optional(OperationStatus),
    type: Type.Optional(OperationType),
    subject_type: Type.Optional(SubjectType),
    subject_id: Type.Optional(SubjectId),
    project_id: Type.Optional(
      uuid(
        '01a1fb44-5997-73df-a23c-ea72e7720849',
        'Leaves out operations on servers of other projects',
        'GET /account/projects',
      ),
    ),
  })
  return { Operation, OperationQuery }
}
export type OperationSchemas = ReturnType<typeof operationSchemas>
export type Operation = Static<OperationSchemas['Operation']>

export const OperationWait = Type.Object({
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 60,
      default: 0,
      description: 'How many seconds to wait for the operation to finish',
    }),
  ),
})
