import { isBerthError } from '@berth/sdk'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import { Icon } from './icon.tsx'
import { useProblemText } from './problems.ts'
import { useUiText } from './text.ts'

/** Shown only for a first load that takes its time. */
export function Loading({ lines = 6 }: { lines?: number }) {
  const t = useUiText()
  return (
    <div className="stack" role="status" aria-label={t.loading}>
      {Array.from({ length: lines }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of nothing have no other name
        <div key={at} className="skeleton" />
      ))}
    </div>
  )
}

/** An error: its message, a button to retry, and the ids that the operator needs. */
export function Failed({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const t = useUiText()
  const text = useProblemText()(error)
  if (isBerthError(error) && error.code === 'two_factor_required') return <SecondFactor />
  return (
    <div className="note" data-tone="bad" role="alert">
      <Icon name="alert" />
      <div className="stack" style={{ gap: 6 }}>
        <span>{text}</span>
        {isBerthError(error) ? (
          <span className="row small muted">
            {t.code}: <Copy text={error.code} />
            {error.requestId ? (
              <>
                {t.requestId}: <Copy text={error.requestId} />
              </>
            ) : null}
          </span>
        ) : null}
        {onRetry ? (
          <span>
            <Button icon="restart" onClick={onRetry}>
              {t.retry}
            </Button>
          </span>
        ) : null}
      </div>
    </div>
  )
}

/** Nothing is broken, and another try would not help. */
function SecondFactor() {
  const t = useUiText()
  return (
    <Note>
      <div className="stack" style={{ gap: 8 }}>
        <span>{t.secondFactor}</span>
        <span>
          <Link to="/account/security" className="button">
            {t.toSecurity}
          </Link>
        </span>
      </div>
    </Note>
  )
}

export function Note({ tone = 'plain', children }: { tone?: 'plain' | 'warn' | 'bad'; children: ReactNode }) {
  return (
    <div className="note" data-tone={tone}>
      <Icon name={tone === 'plain' ? 'info' : 'alert'} />
      <div>{children}</div>
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  )
}

interface QueryStateProps<Data> {
  query: { data: Data | undefined; error: Error | null; refetch: () => unknown }
  children: (data: Data) => ReactNode
}

/** Shows known data even if the last request failed; without data it shows progress or the error. */
export function Loaded<Data>({ query, children }: QueryStateProps<Data>) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <Failed error={query.error} onRetry={() => void query.refetch()} />
  return <Loading />
}
