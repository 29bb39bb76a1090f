import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { sshKeysQuery } from '../account/queries.ts'
import { SshKeyForm } from '../account/ssh-key-form.tsx'
import { Allowed } from '../ui/guarded.tsx'
import { Icon } from '../ui/icon.tsx'
import { Card } from '../ui/page.tsx'
import { useOverviewText } from './text.ts'

/** Three steps for an account without servers: a key, a server, a login. */
export function FirstSteps() {
  const t = useOverviewText()
  const { data: keys } = useQuery(sshKeysQuery)
  if (!keys) return null
  const [key] = keys.items
  return (
    <Card title={t.steps}>
      <ol className="steps">
        <Step at={1} title={t.addKey} isDone={key !== undefined}>
          {key ? (
            <p className="muted">{t.keyAdded(key.name)}</p>
          ) : (
            <>
              <p className="muted">{t.addKeyAbout}</p>
              <Allowed scope="account:write">
                <SshKeyForm onAdded={() => {}} />
              </Allowed>
            </>
          )}
        </Step>
        <Step at={2} title={t.create}>
          <p className="muted">{t.createAbout}</p>
          <Link to="/servers/new" className="button" data-kind={key ? 'primary' : 'plain'}>
            {t.newServer}
          </Link>
        </Step>
        <Step at={3} title={t.login}>
          <p className="muted">{t.loginAbout}</p>
        </Step>
      </ol>
    </Card>
  )
}

interface StepProps {
  at: number
  title: string
  isDone?: boolean
  children: ReactNode
}

function Step({ at, title, isDone = false, children }: StepProps) {
  return (
    <li data-done={isDone}>
      <span className="step-number">{isDone ? <Icon name="check" /> : at}</span>
      <div className="stack" style={{ gap: 8 }}>
        <h3>{title}</h3>
        {children}
      </div>
    </li>
  )
}
