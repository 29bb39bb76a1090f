import { useRef, useState } from 'react'

/**
 * Rows that never move under the pointer: while it is over them, they keep their order and are updated in place;
 * additions and removals appear when it leaves.
 */
export function useSteadyRows<Row>(rows: readonly Row[], idOf: (row: Row) => string) {
  const [isHeld, setIsHeld] = useState(false)
  const shown = useRef(rows)
  if (isHeld) {
    const byId = new Map(rows.map((row) => [idOf(row), row]))
    shown.current = shown.current.map((row) => byId.get(idOf(row)) ?? row)
  } else shown.current = rows
  return {
    steady: shown.current,
    hold: { onPointerEnter: () => setIsHeld(true), onPointerLeave: () => setIsHeld(false) },
  }
}
