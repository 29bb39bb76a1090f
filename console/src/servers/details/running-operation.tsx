import { useQuery } from '@tanstack/react-query'
import { useUiText } from '../../ui/text.ts'
import { operationQuery } from '../queries.ts'
import { useServersText } from '../text.ts'

/** The steps of the API, as people read them. */
const readable = (step: string) => step.replaceAll('_', ' ')

export function RunningOperation({ operationId }: { operationId: string }) {
  const t = useServersText()
  const words = useUiText()
  const { data: operation } = useQuery(operationQuery(operationId))
  if (!operation || operation.finished_at !== null) return null
  return (
    <section className="card operation" aria-label={t.operations[operation.type]}>
      <div className="row between">
        <span role="status">
          <strong>{t.operations[operation.type]}</strong>{' '}
          <span className="muted">{readable(operation.step)}</span>
        </span>
        <span className="muted">{operation.progress}%</span>
      </div>
      <progress className="bar" max={100} value={operation.progress} aria-label={words.progress} />
    </section>
  )
}
