import type { OperatedOperation } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { UNKNOWN } from '../format.ts'
import { useReason } from '../servers/reasons.ts'
import { OperationStatus } from '../servers/server-status.tsx'
import { useServersText } from '../servers/text.ts'
import { CopyId } from '../ui/copy.tsx'
import { Segments } from '../ui/field.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { operationsQuery, PAGE } from './queries.ts'
import { useOperatorText } from './text.ts'

const route = getRouteApi('/shell/operator/operations')
const states = ['active', 'failed'] as const

export function OperationsPage() {
  const t = useOperatorText()
  const { state = 'active', offset = 0 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(operationsQuery(state, offset))
  const columns = useColumns()
  return (
    <Page title={t.operations} about={t.operationsAbout}>
      <Segments
        label={t.state}
        value={state}
        options={states.map((value) => ({ value, title: t.states[value] }))}
        onChange={(next) => void navigate({ search: { state: next } })}
      />
      <PagedTable
        query={query}
        empty={{ title: t.noOperations[state], about: state === 'failed' ? t.failedAbout : null }}
        label={t.operations}
        columns={columns}
        idOf={({ operation_id }) => operation_id}
        page={{ offset, limit: PAGE, onChange: (next) => void navigate({ search: { state, offset: next } }) }}
      />
    </Page>
  )
}

function useColumns(): Column<OperatedOperation>[] {
  const t = useOperatorText()
  const reason = useReason()
  const words = useServersText()
  return [
    { title: t.operation, cell: ({ type }) => <span className="title">{words.operations[type]}</span> },
    { title: t.status, cell: ({ status }) => <OperationStatus status={status} /> },
    {
      title: t.progress,
      cell: ({ step, progress }) => (
        <>
          {progress}% <span className="muted">{step.replaceAll('_', ' ')}</span>
        </>
      ),
    },
    {
      title: t.error,
      isWrapped: true,
      cell: ({ error }) =>
        error ? (
          <>
            <code>{error.code}</code> {reason(error.code, error.message)}
          </>
        ) : (
          UNKNOWN
        ),
    },
    { title: t.account, cell: ({ account_id: id }) => <CopyId id={id} /> },
    { title: t.subject, cell: ({ subject_id: id }) => <CopyId id={id} /> },
    { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
  ]
}
