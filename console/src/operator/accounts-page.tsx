import type { OperatedAccount } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useFormats } from '../format.ts'
import { Button } from '../ui/button.tsx'
import { CopyId } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Select } from '../ui/field.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { SearchInput } from '../ui/search-input.tsx'
import { Status, type Tone } from '../ui/status.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { AccountChange, type Change, refreshAccounts } from './account-change.tsx'
import { CreateForm } from './account-forms.tsx'
import { useAccountFormsText } from './account-forms-text.ts'
import { type AccountsSearch, accountsQuery, PAGE, readAccountsSearch } from './queries.ts'
import { useOperatorText } from './text.ts'

const route = getRouteApi('/shell/operator')
const tones: Record<OperatedAccount['status'], Tone> = { active: 'good', suspended: 'warn', closed: 'off' }

interface Chosen {
  account: OperatedAccount
  change: Change
}

export function AccountsPage() {
  const t = useOperatorText()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(accountsQuery(search))
  const forms = useAccountFormsText()
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const [isCreating, setIsCreating] = useState(false)
  const columns = useColumns(setChosen)
  const go = (next: AccountsSearch) => void navigate({ search: next, replace: true })
  return (
    <Page
      title={t.accounts}
      about={t.accountsAbout}
      actions={
        <Button kind="primary" onClick={() => setIsCreating(true)}>
          {forms.create}
        </Button>
      }
    >
      <Filters search={search} onChange={go} />
      <PagedTable
        query={query}
        empty={{ title: t.noAccounts, about: t.noAccountsAbout }}
        label={t.accounts}
        columns={columns}
        idOf={({ account_id }) => account_id}
        nameOf={({ email }) => email}
        page={{ offset: search.offset ?? 0, limit: PAGE, onChange: (offset) => go({ ...search, offset }) }}
      />
      {chosen ? <AccountChange {...chosen} onClose={() => setChosen(null)} /> : null}
      {isCreating ? <Create onClose={() => setIsCreating(false)} /> : null}
    </Page>
  )
}

function Create({ onClose }: { onClose: () => void }) {
  const { create } = useAccountFormsText()
  const onDone = async () => {
    await refreshAccounts()
    onClose()
  }
  return (
    <Dialog title={create} onClose={onClose}>
      <CreateForm onDone={onDone} onCancel={onClose} />
    </Dialog>
  )
}

/** The changes that an operator may make to an account in its status. */
function useActions(choose: (chosen: Chosen) => void): (account: OperatedAccount) => MenuItem[] {
  const t = useOperatorText()
  const { actions } = useAccountFormsText()
  return (account) => {
    const { status, is_frozen } = account
    const item = (title: string, change: Change, isDangerous = false): MenuItem => ({
      ...{ title, isDangerous },
      onSelect: () => choose({ account, change }),
    })
    return [
      item(t.credit, 'credit'),
      item(t.prices, 'prices'),
      ...(['describe', 'limits', 'credit_limit', 'debit'] as const).map((one) => item(actions[one], one)),
      ...(status === 'closed' ? [] : [item(actions.login, 'login')]),
      ...(status === 'active' ? [item(t.suspend, 'suspend', true)] : [item(t.resume, 'resume')]),
      ...(is_frozen ? [] : [item(t.freeze, 'freeze', true)]),
      ...(status === 'closed' || is_frozen ? [] : [item(actions.close, 'close', true)]),
    ]
  }
}

/** The address of an account, with its name and the operator's own words for it. */
function AccountName({ account }: { account: OperatedAccount }) {
  const { name, email, external_id, tags } = account
  const words = new Set([...(name === email ? [] : [name]), ...(external_id ? [external_id] : []), ...tags])
  return (
    <>
      <span className="title">{email}</span>
      {[...words].map((word) => (
        <span key={word} className="muted">
          {` · ${word}`}
        </span>
      ))}
    </>
  )
}

function useColumns(choose: (chosen: Chosen) => void): Column<OperatedAccount>[] {
  const t = useOperatorText()
  const format = useFormats()
  const actionsOf = useActions(choose)
  return [
    {
      title: t.account,
      cell: (account) => <AccountName account={account} />,
    },
    {
      title: t.status,
      cell: ({ status, is_frozen }) => (
        <Status tone={tones[status]}>{is_frozen ? t.frozen : t.statuses[status]}</Status>
      ),
    },
    {
      title: t.balance,
      isNumber: true,
      cell: ({ balance, is_depleted }) =>
        is_depleted ? (
          <Status tone="warn">
            {t.depleted}: {format.money(balance)}
          </Status>
        ) : (
          format.money(balance)
        ),
    },
    { title: t.paid, isNumber: true, cell: ({ paid }) => format.money(paid) },
    {
      title: t.servers,
      isNumber: true,
      cell: (account) => <ServersLink {...account} />,
    },
    { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
    { title: t.id, cell: ({ account_id }) => <CopyId id={account_id} /> },
    {
      title: '',
      isNumber: true,
      cell: (account) => <Menu label={`${t.account}: ${account.email}`} items={actionsOf(account)} />,
    },
  ]
}

/** The number of an account's servers, which leads to them. */
function ServersLink({ account_id: account, server_count, email }: OperatedAccount) {
  const t = useOperatorText()
  const count = useFormats().number(server_count)
  if (server_count === 0) return count
  return (
    <Link to="/operator/servers" search={{ account }} aria-label={t.serversOf(count, email)}>
      {count}
    </Link>
  )
}

/** Both filters are in the page's address. */
function Filters({
  search,
  onChange,
}: {
  search: AccountsSearch
  onChange: (search: AccountsSearch) => void
}) {
  const t = useOperatorText()
  const { status, q = '' } = search
  const options = Object.entries(t.statuses).map(([value, title]) => ({ value, title }))
  return (
    <search className="row">
      <SearchInput
        type="search"
        label={t.search}
        maxLength={254}
        style={{ width: 320 }}
        value={q}
        onChange={(typed) => onChange(readAccountsSearch({ q: typed, status }))}
      />
      <Select
        aria-label={t.status}
        value={status ?? ''}
        options={[{ value: '', title: t.anyStatus }, ...options]}
        onChange={(next) => onChange(readAccountsSearch({ q, status: next }))}
      />
    </search>
  )
}
