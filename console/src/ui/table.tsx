import { memo, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { useKeys } from './keys.ts'
import { useUiText } from './text.ts'

export interface Column<Row> {
  title: string
  isNumber?: boolean
  /** True if the text of a cell may take several lines. */
  isWrapped?: boolean
  cell: (row: Row) => ReactNode
}

export interface Selection {
  ids: ReadonlySet<string>
  onChange: (ids: ReadonlySet<string>) => void
}

export interface TableProps<Row> {
  /** The table's name for screen readers. */
  label: string
  rows: readonly Row[]
  columns: readonly Column<Row>[]
  idOf: (row: Row) => string
  nameOf?: (row: Row) => string
  /** Called by Enter on the row that `j` and `k` have chosen. */
  onOpen?: (row: Row) => void
  selection?: Selection | undefined
}

const ENTER = 'Enter'

/** The number of rows that fit on most screens; more are drawn as they come near. */
const FIRST = 24
const STEP = 20

/**
 * The number of rows to draw: those that are or were in sight, and some more. Drawn rows stay, because columns would
 * otherwise change their width.
 */
function useDrawn(count: number, body: RefObject<HTMLTableSectionElement | null>) {
  const [drawn, setDrawn] = useState(FIRST)
  const [height, setHeight] = useState(0)
  useEffect(() => {
    if (count <= drawn) return
    const look = () => {
      const { current } = body
      const first = current?.rows[0]?.offsetHeight ?? 0
      if (!current || first === 0) return
      setHeight(first)
      const inSight = Math.ceil((innerHeight - current.getBoundingClientRect().top) / first)
      if (inSight + STEP / 2 > drawn) setDrawn(Math.max(inSight, drawn) + STEP)
    }
    look()
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [count, drawn, body])
  return {
    drawn,
    missing: Math.max(0, count - drawn) * height,
    draw: (least: number) => setDrawn(Math.max(drawn, least)),
  }
}

/** The caller keeps the order of rows steady while the pointer is over them. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, rows, columns, idOf, nameOf = idOf, onOpen, selection } = props
  const [current, setCurrent] = useState(-1)
  const body = useRef<HTMLTableSectionElement>(null)
  const { drawn, missing, draw } = useDrawn(rows.length, body)
  const move = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, current + by))
    setCurrent(next)
    draw(next + STEP)
    body.current?.rows[next]?.scrollIntoView({ block: 'nearest' })
  }
  const chosen = rows[current]
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ...(chosen && onOpen ? { [ENTER]: () => onOpen(chosen) } : {}),
    ...(chosen && selection ? { x: () => selection.onChange(toggled(selection.ids, idOf(chosen))) } : {}),
  })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reachable by the keyboard
    <section className="table-scroll" tabIndex={0} aria-label={label}>
      <table className="table" aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {selection ? <SelectAll ids={rows.map(idOf)} selection={selection} /> : null}
            {columns.map(({ title, isNumber = false }) => (
              <th key={title} scope="col" className={isNumber ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.slice(0, drawn).map((row, at) => (
            <tr key={idOf(row)} data-current={at === current} aria-selected={selection?.ids.has(idOf(row))}>
              {selection ? <SelectRow id={idOf(row)} name={nameOf(row)} selection={selection} /> : null}
              <Cells row={row} columns={columns} />
            </tr>
          ))}
        </tbody>
        {missing > 0 ? (
          <tfoot aria-hidden="true">
            <tr style={{ height: missing }} />
          </tfoot>
        ) : null}
      </table>
    </section>
  )
}

/** It is only rendered again if its row has changed, so the caller must keep the columns stable. */
const Cells = memo(function Cells<Row>({ row, columns }: { row: Row; columns: readonly Column<Row>[] }) {
  return columns.map((column) => (
    // On narrow pages titles stand beside their cells.
    <td key={column.title} className={classOf(column)} data-title={column.title}>
      {column.cell(row)}
    </td>
  ))
}) as <Row>(props: { row: Row; columns: readonly Column<Row>[] }) => ReactNode // memo forgets that it is generic

function classOf<Row>({ isNumber, isWrapped }: Column<Row>): string | undefined {
  return isNumber ? 'number' : isWrapped ? 'wrap' : undefined
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return ids.has(id) ? new Set([...ids].filter((own) => own !== id)) : new Set([...ids, id])
}

function SelectAll({ ids, selection }: { ids: readonly string[]; selection: Selection }) {
  const t = useUiText()
  const isAll = ids.length > 0 && ids.every((id) => selection.ids.has(id))
  return (
    <th scope="col" style={{ width: 36 }}>
      <input
        type="checkbox"
        aria-label={t.selectAll}
        checked={isAll}
        onChange={() => selection.onChange(new Set(isAll ? [] : ids))}
      />
    </th>
  )
}

function SelectRow({ id, name, selection }: { id: string; name: string; selection: Selection }) {
  const t = useUiText()
  return (
    <td className="select">
      <input
        type="checkbox"
        aria-label={t.select(name)}
        checked={selection.ids.has(id)}
        onChange={() => selection.onChange(toggled(selection.ids, id))}
      />
    </td>
  )
}

export interface PagerProps {
  offset: number
  limit: number
  total: number
  onChange: (offset: number) => void
}

/** Renders nothing if everything fits on one page. */
export function Pager({ offset, limit, total, onChange }: PagerProps) {
  const t = useUiText()
  if (total <= limit) return null
  return (
    <nav className="row between" aria-label={t.page(offset + 1, Math.min(total, offset + limit), total)}>
      <span className="muted">{t.page(offset + 1, Math.min(total, offset + limit), total)}</span>
      <span className="row">
        <button
          type="button"
          className="button"
          disabled={offset === 0}
          onClick={() => onChange(Math.max(0, offset - limit))}
        >
          {t.previous}
        </button>
        <button
          type="button"
          className="button"
          disabled={offset + limit >= total}
          onClick={() => onChange(offset + limit)}
        >
          {t.next}
        </button>
      </span>
    </nav>
  )
}
