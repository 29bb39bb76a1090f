import './account.css'
import type { Account } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useContext } from 'react'
import { Features } from '../feature.ts'
import { useFormats } from '../format.ts'
import { useWords } from '../messages.ts'
import { sessionQuery } from '../session.ts'
import { Copy } from '../ui/copy.tsx'
import type { Example } from '../ui/example.ts'
import { Card, Facts, Page } from '../ui/page.tsx'
import { Loaded } from '../ui/states.tsx'
import { useLimitValue } from './limit-value.ts'
import { useAccountText } from './text.ts'

const examples: readonly Example[] = [{ route: 'GET /account/me', berth: 'berth whoami', sdk: 'account.get' }]

export function AccountPage() {
  const t = useAccountText()
  const query = useQuery(sessionQuery)
  return (
    <Page title={t.account} examples={examples}>
      <Loaded query={query}>
        {(account) => (
          <div className="stack">
            <Profile account={account} />
            <Limits account={account} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function Profile({ account }: { account: Account }) {
  const t = useAccountText()
  const format = useFormats()
  const standing = ({ status, status_reason, status_since }: Account) =>
    [t.statuses[status], status_since && format.date(status_since), status_reason]
      .filter((part) => part !== null)
      .join(', ')
  return (
    <Card
      title={t.profile}
      actions={
        <>
          <Link to="/account/complaints" className="button">
            {t.toComplaints}
          </Link>
          <Link to="/account/security" className="button">
            {t.toSecurity}
          </Link>
        </>
      }
    >
      <div className="body">
        <Facts
          facts={[
            [t.name, account.name],
            [t.email, account.email],
            [t.status, standing(account)],
            [t.accountId, <Copy key="id" text={account.account_id} />],
            [t.created, format.date(account.created_at)],
          ]}
        />
      </div>
    </Card>
  )
}

function Limits({ account: { quotas, limit_reasons: reasons } }: { account: Account }) {
  const t = useAccountText()
  const { money } = useFormats()
  const inWords = useWords()
  const shown = useLimitValue()
  const limits = useContext(Features).flatMap((feature) => feature.quotas ?? [])
  return (
    <Card title={t.limits} actions={<span className="muted small">{t.limitsAbout}</span>}>
      <div className="limits">
        {limits.map(({ name, title }) => {
          const { used, limit } = quotas[name]
          const { next } = reasons[name]
          return (
            <div key={name}>
              <span className="row between">
                <span>{inWords(title)}</span>
                <span className="muted">
                  {shown(name, used)} / {shown(name, limit)}
                </span>
              </span>
              <progress className="bar" max={limit} value={used} aria-label={inWords(title)} />
              {next ? (
                <span className="muted small">{t.raised(shown(name, next.limit), money(next.paid_rub))}</span>
              ) : null}
            </div>
          )
        })}
      </div>
    </Card>
  )
}
