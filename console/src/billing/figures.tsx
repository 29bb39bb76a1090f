import '../account/account.css'
import type { Balance } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useFormats } from '../format.ts'
import { Approximately } from '../people/approximately.tsx'
import { lastMonths, usageQuery } from './queries.ts'
import { useBillingText } from './text.ts'

export interface Figure {
  title: string
  value: ReactNode
  about?: string
  /** The value in the second currency. */
  beside?: ReactNode
}

/** The account's money in figures; those of a balance that is not loaded yet are dashes. */
export function useMoneyFigures(balance: Balance | undefined) {
  const t = useBillingText()
  const format = useFormats()
  const [month = ''] = lastMonths(new Date())
  const { data: usage } = useQuery(usageQuery(month))
  const lasts = (hours: number | null) => (hours === null ? t.nothingBilled : t.lasts(t.span(hours)))
  const credit = ({ credit_limit_rub: limit }: Balance) =>
    Number(limit) > 0 ? [t.creditLimit(format.money(limit))] : []
  return {
    balance: {
      title: t.balance,
      value: format.money(balance?.balance ?? null),
      beside: <Approximately rubles={balance?.balance ?? null} />,
      about: balance ? [lasts(balance.hours_left), ...credit(balance)].join(' · ') : '',
    },
    month: {
      title: t.month,
      value: format.money(usage?.amount ?? null),
      beside: <Approximately rubles={usage?.amount ?? null} />,
      about: balance ? t.perMonth(format.money(balance.cost_month_rub)) : '',
    },
    hour: { title: t.hour, value: format.money(balance?.cost_hour_rub ?? null, 4) },
  } satisfies Record<string, Figure>
}

/** Figures in a row, each with its title and a note. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <div className="card figures">
      {figures.map(({ title, value, about, beside }) => (
        <div key={title}>
          <span className="muted">{title}</span>
          <strong>{value}</strong>
          {beside}
          {about ? <span className="muted small">{about}</span> : null}
        </div>
      ))}
    </div>
  )
}
