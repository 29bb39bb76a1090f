import type { Session } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { berth, queryClient } from '../client.ts'
import { Menu } from '../ui/menu.tsx'
import { Card } from '../ui/page.tsx'
import { Failed, Loaded } from '../ui/states.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { useUiText } from '../ui/text.ts'
import { Time } from '../ui/time.tsx'
import { sessionsQuery } from './queries.ts'
import { useSecurityText } from './security-text.ts'

/** Shortens a user agent to text such as `Firefox on Linux`. */
function browserOf(agent: string): string {
  const name = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find((candidate) => agent.includes(candidate))
  const system = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS', 'Linux'].find((known) =>
    agent.includes(known),
  )
  return [name?.replace('Edg', 'Edge').replace('OPR', 'Opera'), system].filter(Boolean).join(', ') || agent
}

export function SessionsCard() {
  const t = useSecurityText()
  const words = useUiText()
  const query = useQuery(sessionsQuery)
  const end = useMutation({
    mutationFn: ({ session_id }: Session) => berth.sessions.delete(session_id),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['session'] }),
  })
  const columns: Column<Session>[] = [
    { title: t.browser, cell: (session) => <Browser session={session} /> },
    { title: t.address, cell: ({ address }) => <span className="mono">{address}</span> },
    { title: t.lastUsed, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
    { title: t.began, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: '',
      isNumber: true,
      cell: (session) => (
        <Menu
          label={words.actions(browserOf(session.user_agent))}
          items={[{ title: t.end, isDangerous: true, onSelect: () => end.mutate(session) }]}
        />
      ),
    },
  ]
  return (
    <Card title={t.sessions} actions={<span className="muted small">{t.sessionsAbout}</span>}>
      <Loaded query={query}>
        {({ items }) => (
          <Table label={t.sessions} rows={items} columns={columns} idOf={({ session_id }) => session_id} />
        )}
      </Loaded>
      {end.error ? <Failed error={end.error} /> : null}
    </Card>
  )
}

function Browser({ session: { user_agent, is_current } }: { session: Session }) {
  const t = useSecurityText()
  return (
    <>
      <span className="title" title={user_agent}>
        {browserOf(user_agent)}
      </span>
      {is_current ? <span className="muted"> · {t.current}</span> : null}
    </>
  )
}
