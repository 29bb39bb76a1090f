import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { projectsQuery } from '../account/queries.ts'
import { UNKNOWN, useFormats } from '../format.ts'
import { Select } from '../ui/field.tsx'
import { Card } from '../ui/page.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Item } from './item.tsx'
import { lastMonths, usageQuery } from './queries.ts'
import { useBillingText } from './text.ts'

/** The cost of each server and address in a month. */
export function UsageCard() {
  const t = useBillingText()
  const format = useFormats()
  const months = lastMonths(new Date())
  const [month, setMonth] = useState(months[0] ?? '')
  const query = useQuery(usageQuery(month))
  const projects = useQuery(projectsQuery).data?.items ?? []
  const projectOf = (id: string) => projects.find(({ project_id }) => project_id === id)?.name ?? UNKNOWN
  const titleOf = (value: string) =>
    new Date(`${value}-15`).toLocaleDateString(format.locale, { month: 'long', year: 'numeric' })
  return (
    <Card
      title={t.usage}
      actions={
        <>
          <Select
            aria-label={t.monthOf}
            value={month}
            options={months.map((value) => ({ value, title: titleOf(value) }))}
            onChange={setMonth}
          />
          <a className="button" href={`/v1/account/usage.csv?month=${month}`} download={`usage-${month}.csv`}>
            {t.csv}
          </a>
        </>
      }
    >
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={t.noUsage} />
          ) : (
            <Table
              label={t.usage}
              rows={items}
              idOf={({ item_id, project_id }) => `${item_id} ${project_id}`}
              columns={[
                { title: t.item, cell: (item) => <Item {...item} /> },
                { title: t.project, cell: ({ project_id }) => projectOf(project_id) },
                { title: t.hours, isNumber: true, cell: ({ hours }) => format.number(hours, 1) },
                { title: t.amount, isNumber: true, cell: ({ amount }) => format.money(amount) },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  )
}
