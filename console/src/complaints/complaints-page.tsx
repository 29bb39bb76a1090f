import type { Complaint } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { useFormats } from '../format.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import type { Example } from '../ui/example.ts'
import { Segments, TextArea } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Allowed } from '../ui/guarded.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { Loaded } from '../ui/states.tsx'
import { ownComplaintQuery, ownComplaintsQuery } from './queries.ts'
import { useComplaintText } from './text.ts'
import { ComplaintStatus, Thread } from './thread.tsx'

const route = getRouteApi('/shell/account/complaints')
const LONGEST = 2_000
const ID = '01a1fb44-7e30-7b3c-9d4e-3f4a5b6c7d8e'

const examples: readonly Example[] = [
  { route: 'GET /account/complaints', berth: 'berth account complaints', sdk: 'complaints.list' },
  {
    route: 'POST /account/complaints/{complaint_id}/answers',
    path: { complaint_id: ID },
    body: { text: 'The form is closed.' },
    berth: `berth account answer-complaint ${ID} --text 'The form is closed.'`,
    sdk: 'complaints.answer',
  },
]

/** Complaints about the account and its servers, which its people answer. */
export function ComplaintsPage() {
  const t = useComplaintText()
  const { exact } = useFormats()
  const { status = 'open' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(ownComplaintsQuery(status))
  const [shown, setShown] = useState<Complaint | null>(null)
  const lists = (['open', 'closed'] as const).map((value) => ({ value, title: t.lists[value] }))
  return (
    <Page title={t.title} about={t.about} examples={examples}>
      <div className="row">
        <Segments
          label={t.which}
          value={status}
          options={lists}
          onChange={(next) => void navigate({ search: next === 'closed' ? { status: next } : {} })}
        />
      </div>
      <PagedTable
        query={query}
        empty={{ title: t.none[status], about: t.noneAbout }}
        label={t.title}
        idOf={({ complaint_id }) => complaint_id}
        nameOf={({ kind }) => t.kinds[kind]}
        onOpen={setShown}
        columns={[
          { title: t.kind, cell: ({ kind }) => <span className="title">{t.kinds[kind]}</span> },
          { title: t.subject, cell: ({ server_name }) => server_name ?? t.whole },
          { title: t.deadline, isWrapped: true, cell: ({ deadline_at }) => exact(deadline_at) },
          { title: t.status, cell: (complaint) => <ComplaintStatus complaint={complaint} /> },
          {
            title: '',
            isNumber: true,
            cell: (complaint) => (
              <Button aria-label={t.readOf(t.kinds[complaint.kind])} onClick={() => setShown(complaint)}>
                {complaint.status === 'awaiting_customer' ? t.answer : t.read}
              </Button>
            ),
          },
        ]}
      />
      {shown ? (
        <Dialog title={t.kinds[shown.kind]} isSide onClose={() => setShown(null)}>
          <Details id={shown.complaint_id} />
        </Dialog>
      ) : null}
    </Page>
  )
}

function Details({ id }: { id: string }) {
  const query = useQuery(ownComplaintQuery(id))
  return (
    <Loaded query={query}>
      {(complaint) => (
        <>
          <Thread complaint={complaint} />
          {complaint.closed_at === null ? (
            <Allowed scope="account:write">
              <AnswerForm id={id} />
            </Allowed>
          ) : null}
        </>
      )}
    </Loaded>
  )
}

function AnswerForm({ id }: { id: string }) {
  const t = useComplaintText()
  const [text, setText] = useState('')
  const answer = useMutation({
    mutationFn: () => berth.complaints.answer(id, text.trim()),
    onSuccess: async () => {
      setText('')
      await queryClient.invalidateQueries({ queryKey: ['complaint'] })
    },
  })
  return (
    <Form submit={t.answer} mutation={answer} isReady={text.trim() !== ''} onSubmit={() => answer.mutate()}>
      <TextArea
        label={t.yourAnswer}
        hint={t.answerAbout}
        rows={5}
        maxLength={LONGEST}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </Form>
  )
}
