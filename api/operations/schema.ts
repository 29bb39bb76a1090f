import Type, { type Static } from 'typebox'
import { nullable, Timestamp, Uuid, uuid } from '../http/fields.ts'
import { pagingQuery } from '../http/paging.ts'
import { defineProblems } from '../http/problem.ts'
import type { Procedures } from './procedure.ts'

export const operationProblems = defineProblems({
  operation_not_found: { status: 404, title: 'No such operation' },
})

export const OperationStatus = Type.Enum(['pending', 'running', 'succeeded', 'failed', 'canceled'], {
  examples: ['running'],
})
export const Progress = Type.Integer({ minimum: 0, maximum: 100, examples: [40] })
const OperationId = uuid('01a1fb45-1ac4-7139-823a-0f4159fa3bf6')
const SubjectId = uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403')

/** What goes over the wire. Which operations there are, and on what, the procedures of the features say. */
export function operationSchemas(procedures: Procedures) {
  const SubjectType = Type.Enum(Object.keys(procedures), {
    description: 'Type of the resource that the operation is on',
  })
  const types = new Set(Object.values(procedures).flatMap((each) => Object.keys(each)))
  const OperationType = Type.Enum([...types])
  const Operation = Type.Object(
    {
      operation_id: OperationId,
      subject_type: SubjectType,
      subject_id: SubjectId,
      server_id: nullable(SubjectId),
      type: OperationType,
      status: OperationStatus,
      progress: Progress,
      step: Type.String({ examples: ['boot'] }),
      error: nullable(Type.Object({ code: Type.String(), message: Type.String() }), { examples: [null] }),
      created_at: Timestamp,
      started_at: nullable(Timestamp),
      finished_at: nullable(Timestamp, { examples: [null] }),
    },
    { title: 'Operation' },
  )
  const OperationQuery = Type.Object({
    ...pagingQuery,
    status: Type.Optional(OperationStatus),
    type: Type.Optional(OperationType),
    subject_type: Type.Optional(SubjectType),
    subject_id: Type.Optional(Uuid),
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
