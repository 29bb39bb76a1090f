import { type ReactNode, useEffect } from 'react'
import type { Scope } from '../session.ts'
import type { Example } from './example.ts'
import { Allowed, ReadOnly } from './guarded.tsx'
import { ShowAs } from './show-as.tsx'

interface PageProps {
  title: string
  /** Links to the parent pages, above the title. */
  crumbs?: ReactNode
  /** Beside the title: a status, for instance. */
  beside?: ReactNode
  about?: ReactNode
  actions?: ReactNode
  /** The scope that changes need. Users without it see the page without its actions. */
  scope?: Scope | undefined
  /** The calls of the API that the page makes. */
  examples?: readonly Example[]
  children: ReactNode
}

/** The frame of every page: its title, its actions, and the same actions as calls of a program. */
export function Page({ title, crumbs, beside, about, actions, scope, examples = [], children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Berth`
  }, [title])
  return (
    <>
      <header className="page-header">
        <div>
          {crumbs ? <p className="crumbs">{crumbs}</p> : null}
          <div className="row" style={{ gap: 12 }}>
            <h1>{title}</h1>
            {beside}
            {scope ? <ReadOnly scope={scope} /> : null}
          </div>
          {about ? <p>{about}</p> : null}
        </div>
        <div className="row">
          {examples.length > 0 ? <ShowAs examples={examples} /> : null}
          {scope ? <Allowed scope={scope}>{actions}</Allowed> : actions}
        </div>
      </header>
      {children}
    </>
  )
}

export function Card({
  title,
  actions,
  children,
}: {
  title: string
  actions?: ReactNode
  children: ReactNode
}) {
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <div className="row">{actions}</div>
      </header>
      {children}
    </section>
  )
}

/** Names and their values. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
    </dl>
  )
}
