import type { OperatedComplaint } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useComplaintText } from '../complaints/text.ts'
import { ComplaintStatus, Thread } from '../complaints/thread.tsx'
import { useFormats } from '../format.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Segments } from '../ui/field.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { Loaded } from '../ui/states.tsx'
import type { Column } from '../ui/table.tsx'
import { CloseForm, ComplaintForm, ReplyForm } from './complaint-forms.tsx'
import { useOperatedComplaintText } from './complaint-text.ts'
import { FreezeButton } from './freeze-button.tsx'
import { complaintQuery, complaintsQuery, PAGE } from './queries.ts'

const route = getRouteApi('/shell/operator/complaints')

/** Complaints about all accounts, each with the action to take. */
export function OperatedComplaintsPage() {
  const t = useOperatedComplaintText()
  const { none, which, lists } = useComplaintText()
  const { status = 'open', offset = 0 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(complaintsQuery({ status, offset }))
  const [chosen, setChosen] = useState<OperatedComplaint | 'create' | null>(null)
  const columns = useColumns(setChosen)
  const closed = status === 'closed' ? { status } : {}
  const create = (
    <Button kind="primary" onClick={() => setChosen('create')}>
      {t.create}
    </Button>
  )
  return (
    <Page title={t.title} about={t.about} actions={create}>
      <div className="row">
        <Segments
          label={which}
          value={status}
          options={(['open', 'closed'] as const).map((value) => ({ value, title: lists[value] }))}
          onChange={(next) => void navigate({ search: next === 'closed' ? { status: next } : {} })}
        />
      </div>
      <PagedTable
        query={query}
        empty={{ title: none[status] }}
        label={t.title}
        columns={columns}
        idOf={({ complaint_id }) => complaint_id}
        page={{
          offset,
          limit: PAGE,
          onChange: (next) => void navigate({ search: { ...closed, offset: next } }),
        }}
      />
      {chosen === null ? null : <Chosen chosen={chosen} onClose={() => setChosen(null)} />}
    </Page>
  )
}

function useColumns(choose: (complaint: OperatedComplaint) => void): Column<OperatedComplaint>[] {
  const t = useOperatedComplaintText()
  const texts = useComplaintText()
  const { exact } = useFormats()
  return [
    { title: texts.kind, cell: ({ kind }) => <span className="title">{texts.kinds[kind]}</span> },
    { title: t.account, isWrapped: true, cell: (complaint) => <Account complaint={complaint} /> },
    { title: texts.subject, cell: ({ server_name }) => server_name ?? texts.whole },
    { title: texts.deadline, isWrapped: true, cell: ({ deadline_at }) => exact(deadline_at) },
    { title: texts.status, cell: (complaint) => <ComplaintStatus complaint={complaint} /> },
    { title: t.next, isWrapped: true, cell: (complaint) => t.nexts[nextOf(complaint)] },
    {
      title: '',
      isNumber: true,
      cell: (complaint) => (
        <Button
          aria-label={texts.readOf(`${texts.kinds[complaint.kind]}, ${complaint.email}`)}
          onClick={() => choose(complaint)}
        >
          {texts.read}
        </Button>
      ),
    },
  ]
}

function nextOf({ status, is_overdue }: OperatedComplaint) {
  if (status === 'closed') return 'closed'
  if (status === 'awaiting_operator') return 'answered'
  return is_overdue ? 'overdue' : 'waiting'
}

function Account({ complaint: { account_id, email, is_frozen } }: { complaint: OperatedComplaint }) {
  const t = useOperatedComplaintText()
  return (
    <>
      <Link to="/operator" search={{ q: account_id }}>
        {email}
      </Link>
      {is_frozen ? <span className="tag">{t.frozen}</span> : null}
    </>
  )
}

function Chosen({ chosen, onClose }: { chosen: OperatedComplaint | 'create'; onClose: () => void }) {
  const t = useOperatedComplaintText()
  const { kinds } = useComplaintText()
  if (chosen === 'create')
    return (
      <Dialog title={t.create} isSide onClose={onClose}>
        <ComplaintForm onDone={onClose} />
      </Dialog>
    )
  return (
    <Dialog title={`${kinds[chosen.kind]}: ${chosen.email}`} isSide onClose={onClose}>
      <Details id={chosen.complaint_id} />
    </Dialog>
  )
}

function Details({ id }: { id: string }) {
  const query = useQuery(complaintQuery(id))
  return (
    <Loaded query={query}>
      {(complaint) => (
        <>
          <Thread complaint={complaint} />
          {complaint.is_frozen ? null : <FreezeButton account={complaint} />}
          {complaint.closed_at === null ? (
            <>
              <ReplyForm complaint={complaint} />
              <CloseForm complaint={complaint} />
            </>
          ) : null}
        </>
      )}
    </Loaded>
  )
}
