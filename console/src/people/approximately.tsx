import { approximate } from '@berth/sdk'
import { useFormats } from '../format.ts'
import { useHoster } from './hoster.tsx'
import { usePeopleText } from './text.ts'

interface ApproximatelyProps {
  /** A sum as the API writes it, or as a user types it; null if it is not known. */
  rubles: string | null
  /** Says the rate beside the sum, for people who are about to pay. */
  isExplained?: boolean
}

/** A sum in the second currency, marked as approximate; nothing if the operator has set none. */
export function Approximately({ rubles, isExplained = false }: ApproximatelyProps) {
  const t = usePeopleText()
  const format = useFormats()
  const currency = useHoster()?.second_currency
  if (!currency || rubles === null || !/^-?\d{1,12}(\.\d{1,4})?$/.test(rubles)) return null
  const { code, rubles: price } = currency
  const sum = `≈ ${format.foreign(approximate(rubles, currency), code)}`
  const places = Math.max(2, price.split('.')[1]?.length ?? 0)
  const about = t.approximate(format.money(price, places), code)
  return (
    <span className="muted small" title={about}>
      {sum}
      {isExplained ? ` · ${about}` : null}
    </span>
  )
}
