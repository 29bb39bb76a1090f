import type { Document } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useBillingText } from '../billing/text.ts'
import { useFormats } from '../format.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import type { Column } from '../ui/table.tsx'
import { CorrectionForm } from './correction-form.tsx'
import { useDocumentText } from './document-text.ts'
import { findAccount, operatedAccountQuery, operatedDocumentsQuery, PAGE } from './queries.ts'

const route = getRouteApi('/shell/operator/documents')

/** The invoices of an account, which operators correct by credit and debit notes. */
export function OperatedDocumentsPage() {
  const t = useDocumentText()
  const { customer, offset = 0 } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <Page title={t.documents} about={t.about}>
      <Choice
        key={customer}
        given={customer ?? ''}
        onChoose={(id) => void navigate({ search: { customer: id } })}
      />
      {customer ? (
        <Documents
          accountId={customer}
          offset={offset}
          onChange={(next) => void navigate({ search: { customer, offset: next } })}
        />
      ) : null}
    </Page>
  )
}

/** The field that names an account by its address or id. */
function Choice({ given, onChoose }: { given: string; onChoose: (accountId: string) => void }) {
  const t = useDocumentText()
  const [typed, setTyped] = useState(given)
  const find = useMutation({
    mutationFn: () => findAccount(typed.trim()),
    onSuccess: (account) => (account ? onChoose(account.account_id) : undefined),
  })
  const isUnknown = find.data === null
  return (
    <Form submit={t.show} mutation={find} isReady={typed.trim() !== ''} onSubmit={() => find.mutate()}>
      <TextField
        label={t.accountField}
        value={typed}
        error={isUnknown ? t.noAccount : null}
        onChange={(event) => setTyped(event.target.value)}
      />
    </Form>
  )
}

interface DocumentsProps {
  accountId: string
  offset: number
  onChange: (offset: number) => void
}

function Documents({ accountId, offset, onChange }: DocumentsProps) {
  const t = useDocumentText()
  const [corrected, setCorrected] = useState<Document | null>(null)
  const { data: account } = useQuery(operatedAccountQuery(accountId))
  const query = useQuery(operatedDocumentsQuery(accountId, offset))
  const columns = useColumns(setCorrected)
  return (
    <>
      {account ? <p>{t.of(account.email)}</p> : null}
      <PagedTable
        query={query}
        empty={{ title: t.none }}
        label={t.documents}
        columns={columns}
        idOf={({ document_id }) => document_id}
        page={{ offset, limit: PAGE, onChange }}
      />
      {corrected ? (
        <Dialog title={t.correctOf(corrected.number)} onClose={() => setCorrected(null)}>
          <CorrectionForm accountId={accountId} invoice={corrected} onDone={() => setCorrected(null)} />
        </Dialog>
      ) : null}
    </>
  )
}

function useColumns(correct: (document: Document) => void): Column<Document>[] {
  const t = useDocumentText()
  const words = useBillingText()
  const { locale, money } = useFormats()
  const monthOf = (period: string) =>
    new Date(`${period}-15`).toLocaleDateString(locale, { month: 'long', year: 'numeric' })
  const typeOf = ({ type, corrects }: Document) =>
    [words.documentTypes[type], ...(corrects ? [words.corrects(corrects.number)] : [])].join(' ')
  return [
    { title: words.number, cell: ({ number }) => number },
    { title: words.type, isWrapped: true, cell: typeOf },
    { title: words.monthOf, cell: ({ period }) => monthOf(period) },
    { title: words.vat, isNumber: true, cell: ({ vat_rub }) => money(vat_rub) },
    { title: words.total, isNumber: true, cell: ({ total_rub }) => money(total_rub) },
    {
      title: '',
      isNumber: true,
      cell: (document) =>
        document.type === 'invoice' ? (
          <Button aria-label={t.correctOf(document.number)} onClick={() => correct(document)}>
            {t.correct}
          </Button>
        ) : null,
    },
  ]
}
