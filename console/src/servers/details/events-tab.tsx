import type { Operation } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { UNKNOWN, useFormats } from '../../format.ts'
import { Loaded } from '../../ui/states.tsx'
import { Pager, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { serverOperationsQuery } from '../queries.ts'
import { useReason } from '../reasons.ts'
import { OperationStatus } from '../server-status.tsx'
import { useServersText } from '../text.ts'
import { useDetailsText } from './text.ts'
import { useServer } from './use-server.ts'

const secondsOf = ({ started_at, finished_at }: Operation) =>
  started_at && finished_at ? (Date.parse(finished_at) - Date.parse(started_at)) / 1000 : null

/** The server's operations. */
export function EventsTab() {
  const t = useDetailsText()
  const words = useServersText()
  const format = useFormats()
  const reason = useReason()
  const { server_id } = useServer()
  const [offset, setOffset] = useState(0)
  const query = useQuery(serverOperationsQuery(server_id, offset))
  const took = (operation: Operation) => {
    const seconds = secondsOf(operation)
    return seconds === null ? UNKNOWN : t.seconds(format.number(seconds, 1))
  }
  return (
    <Loaded query={query}>
      {({ items, total }) => (
        <>
          <Table
            label={t.tabs.events}
            rows={items}
            idOf={({ operation_id }) => operation_id}
            columns={[
              { title: t.operation, cell: ({ type }) => words.operations[type] },
              { title: words.status, cell: ({ status }) => <OperationStatus status={status} /> },
              { title: t.began, cell: ({ created_at }) => <Time at={created_at} /> },
              { title: t.took, isNumber: true, cell: took },
              {
                title: t.result,
                isWrapped: true,
                cell: ({ error }) => (error ? reason(error.code, error.message) : ''),
              },
            ]}
          />
          <Pager offset={offset} limit={50} total={total} onChange={setOffset} />
        </>
      )}
    </Loaded>
  )
}
