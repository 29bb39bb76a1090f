import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { type Scope, useMay } from '../session.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import type { Example } from './example.ts'
import { Menu, type MenuItem } from './menu.tsx'
import { Page } from './page.tsx'
import { type List, PagedTable } from './paged-table.tsx'
import type { Column } from './table.tsx'
import { useUiText } from './text.ts'

interface ResourcePageProps<Row> {
  title: string
  about?: ReactNode
  query: UseQueryResult<List<Row>>
  columns: readonly Column<Row>[]
  idOf: (row: Row) => string
  nameOf: (row: Row) => string
  empty: { title: string; about: string }
  examples: readonly Example[]
  /** The scope that creating and the actions of a row need. */
  scope: Scope
  /** The menu of a row; empty: the row has none. */
  actionsOf?: (row: Row) => readonly MenuItem[]
  /** The form that creates an object, in a drawer. */
  create?: { title: string; form: (close: () => void) => ReactNode } | undefined
  page?: { offset: number; limit: number; onChange: (offset: number) => void }
}

/** A small resource: a table, a drawer that creates, and a menu of actions for each row. */
export function ResourcePage<Row>(props: ResourcePageProps<Row>) {
  const { title, about, query, columns, idOf, nameOf, empty, examples, scope, actionsOf, create, page } =
    props
  const t = useUiText()
  const may = useMay(scope)
  const [isCreating, setIsCreating] = useState(false)
  const close = () => setIsCreating(false)
  const button = create ? (
    <Button kind="primary" icon="plus" onClick={() => setIsCreating(true)}>
      {create.title}
    </Button>
  ) : null
  const menu: Column<Row>[] =
    actionsOf && may
      ? [
          {
            title: '',
            isNumber: true,
            cell: (row) => {
              const items = actionsOf(row)
              return items.length > 0 ? <Menu label={t.actions(nameOf(row))} items={items} /> : null
            },
          },
        ]
      : []
  return (
    <Page title={title} about={about} actions={button} scope={scope} examples={examples}>
      <PagedTable
        query={query}
        empty={empty}
        label={title}
        columns={[...columns, ...menu]}
        idOf={idOf}
        nameOf={nameOf}
        page={page}
      />
      {create && isCreating ? (
        <Dialog title={create.title} isSide onClose={close}>
          {create.form(close)}
        </Dialog>
      ) : null}
    </Page>
  )
}
