import type { Token } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { useFormats } from '../format.ts'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import type { Example } from '../ui/example.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'
import { tokensQuery } from './queries.ts'
import { useAccountText } from './text.ts'
import { TokenForm } from './token-form.tsx'

const examples: readonly Example[] = [
  { route: 'GET /account/tokens', berth: 'berth token list', sdk: 'tokens.list' },
  {
    route: 'POST /account/tokens',
    body: { name: 'ci', scopes: ['servers:read', 'servers:write'] },
    berth: 'berth token create ci --scope servers:read --scope servers:write',
    sdk: 'tokens.create',
  },
]

export function TokensPage() {
  const t = useAccountText()
  const format = useFormats()
  const query = useQuery(tokensQuery)
  const [revoked, setRevoked] = useState<Token | null>(null)
  return (
    <>
      <ResourcePage
        title={t.tokens}
        about={t.tokensAbout}
        query={query}
        idOf={({ token_id }) => token_id}
        nameOf={({ name }) => name}
        empty={{ title: t.noTokens, about: t.noTokensAbout }}
        examples={examples}
        scope="account:write"
        columns={[
          { title: t.name, cell: ({ name }) => <span className="title">{name}</span> },
          { title: t.scopes, isWrapped: true, cell: ({ scopes }) => <Scopes scopes={scopes} /> },
          { title: t.lastUsed, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
          {
            title: t.expires,
            cell: ({ expires_at }) => (expires_at ? format.date(expires_at) : t.never),
          },
          { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        actionsOf={(token) => [
          { title: t.revoke, icon: 'trash', isDangerous: true, onSelect: () => setRevoked(token) },
        ]}
        create={{ title: t.newToken, form: (close) => <TokenForm onDone={close} /> }}
      />
      {revoked ? <RevokeToken token={revoked} onClose={() => setRevoked(null)} /> : null}
    </>
  )
}

const Scopes = ({ scopes }: Pick<Token, 'scopes'>) => (
  <span className="row" style={{ gap: 4 }}>
    {scopes.map((scope) => (
      <span key={scope} className="tag">
        {scope}
      </span>
    ))}
  </span>
)

function RevokeToken({ token, onClose }: { token: Token; onClose: () => void }) {
  const t = useAccountText()
  const revoke = useMutation({
    mutationFn: () => berth.tokens.delete(token.token_id),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['token'] })
      onClose()
    },
  })
  return (
    <ConfirmDelete title={t.revokeToken(token.name)} name={token.name} mutation={revoke} onClose={onClose}>
      <p>{t.revokeTokenAbout}</p>
    </ConfirmDelete>
  )
}
