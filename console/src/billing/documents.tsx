import type { Document } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useFormats } from '../format.ts'
import { Card } from '../ui/page.tsx'
import { Loaded } from '../ui/states.tsx'
import { Pager, Table } from '../ui/table.tsx'
import { documentsQuery, PAGE } from './queries.ts'
import { useBillingText } from './text.ts'

const files = ['pdf', 'csv'] as const

/** The invoices, statements and corrections of the account, each to download; nothing if there are none. */
export function Documents() {
  const t = useBillingText()
  const format = useFormats()
  const [offset, setOffset] = useState(0)
  const query = useQuery(documentsQuery(offset))
  if (query.data?.total === 0) return null
  const monthOf = (period: string) =>
    new Date(`${period}-15`).toLocaleDateString(format.locale, { month: 'long', year: 'numeric' })
  const typeOf = ({ type, corrects }: Document) =>
    [t.documentTypes[type], ...(corrects ? [t.corrects(corrects.number)] : [])].join(' ')
  return (
    <Card title={t.documents}>
      <Loaded query={query}>
        {({ items, total }) => (
          <>
            <Table
              label={t.documents}
              rows={items}
              idOf={({ document_id }) => document_id}
              columns={[
                { title: t.monthOf, cell: ({ period }) => monthOf(period) },
                { title: t.type, cell: typeOf },
                { title: t.number, cell: ({ number }) => number },
                { title: t.vat, isNumber: true, cell: ({ vat_rub }) => format.money(vat_rub) },
                { title: t.total, isNumber: true, cell: ({ total_rub }) => format.money(total_rub) },
                {
                  title: t.after,
                  isNumber: true,
                  cell: ({ closing_balance_rub }) => format.money(closing_balance_rub),
                },
                { title: '', cell: (document) => <Downloads document={document} /> },
              ]}
            />
            <Pager offset={offset} limit={PAGE} total={total} onChange={setOffset} />
          </>
        )}
      </Loaded>
    </Card>
  )
}

function Downloads({ document: { document_id, type, number, period, corrects } }: { document: Document }) {
  const t = useBillingText()
  return (
    <span className="row">
      {files.map((file) => (
        <a
          key={file}
          className="button"
          href={`/v1/account/documents/${document_id}/content.${file}`}
          download={`${type}-${period}${corrects ? `-${number.replaceAll('/', '-')}` : ''}.${file}`}
          aria-label={t.download(file.toUpperCase(), number)}
        >
          {file.toUpperCase()}
        </a>
      ))}
    </span>
  )
}
