import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Empty, Loaded } from './states.tsx'
import { Pager, type PagerProps, Table, type TableProps } from './table.tsx'

/** A list as the API pages it. */
export interface List<Row> {
  items: readonly Row[]
  total: number
}

interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  query: UseQueryResult<List<Row>>
  /** The text for a list without rows. */
  empty: { title: string; about?: ReactNode }
  /** The pager; absent for lists that are shown completely. */
  page?: Omit<PagerProps, 'total'> | undefined
}

/** A list of a page: its table and pager, or a text if it has no rows. */
export function PagedTable<Row>({ query, empty, page, ...table }: PagedTableProps<Row>) {
  return (
    <Loaded query={query}>
      {({ items, total }) =>
        total === 0 ? (
          <div className="card">
            <Empty title={empty.title}>{empty.about ? <p>{empty.about}</p> : null}</Empty>
          </div>
        ) : (
          <div className="stack">
            <Table {...table} rows={items} />
            {page ? <Pager {...page} total={total} /> : null}
          </div>
        )
      }
    </Loaded>
  )
}
