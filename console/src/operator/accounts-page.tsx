import type { OperatedAccount } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useFormats } from '../format.ts'
import { CopyId } from '../ui/copy.tsx'
import { Select } from '../ui/field.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { SearchInput } from '../ui/search-input.tsx'
import { Status, type Tone } from '../ui/status.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { AccountChange, type Change } from './account-change.tsx'
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
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const columns = useColumns(setChosen)
  const go = (next: AccountsSearch) => void navigate({ search: next, replace: true })
  return (
    <Page title={t.accounts} about={t.accountsAbout}>
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
    </Page>
  )
}

function useColumns(choose: (chosen: Chosen) => void): Column<OperatedAccount>[] {
  const t = useOperatorText()
  const format = useFormats()
  const actionsOf = (account: OperatedAccount): MenuItem[] => [
    { title: t.credit, onSelect: () => choose({ account, change: 'credit' }) },
    { title: t.prices, onSelect: () => choose({ account, change: 'prices' }) },
    ...(account.status === 'active'
      ? [{ title: t.suspend, isDangerous: true, onSelect: () => choose({ account, change: 'suspend' }) }]
      : []),
    ...(account.is_frozen
      ? []
      : [{ title: t.freeze, isDangerous: true, onSelect: () => choose({ account, change: 'freeze' }) }]),
    ...(account.status === 'suspended'
      ? [{ title: t.resume, onSelect: () => choose({ account, change: 'resume' }) }]
      : []),
  ]
  return [
    {
      title: t.account,
      cell: ({ name, email }) => (
        <>
          <span className="title">{email}</span>
          {name === email ? null : <span className="muted"> · {name}</span>}
        </>
      ),
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
