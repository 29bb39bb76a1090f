import Type, { type Static } from 'typebox'
import { nullable, Timestamp, Uuid } from '../http/fields.ts'
import { pagingQuery } from '../http/paging.ts'
import type { Procedures } from './procedure.ts'

export const OperationStatus = Type.Enum(['pending', 'running', 'succeeded', 'failed', 'canceled'])
export const Progress = Type.Integer({ minimum: 0, maximum: 100 })
const SubjectId = Type.String({ format: 'uuid', examples: ['01a1fb45-1ac2-75b7-a056-9ee82769d403'] })

/** What goes over the wire. Which operations there are, and on what, the procedures of the features say. */
export function operationSchemas(procedures: Procedures) {
  const SubjectType = Type.Enum(Object.keys(procedures), { description: 'What it is carried out on' })
  const types = new Set(Object.values(procedures).flatMap((each) => Object.keys(each)))
  const OperationType = Type.Enum([...types])
  const Operation = Type.Object(
    {
      operation_id: Uuid,
      subject_type: SubjectType,
      subject_id: SubjectId,
      server_id: nullable(Uuid),
      type: OperationType,
      status: OperationStatus,
      progress: Progress,
      step: Type.String(),
      error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
      created_at: Timestamp,
      started_at: nullable(Timestamp),
      finished_at: nullable(Timestamp),
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
      description: 'Seconds to wait for the end of the operation',
    }),
  ),
})
