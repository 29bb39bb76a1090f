import type { Passkey, Person } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { RenameDialog } from '../account/rename-dialog.tsx'
import { berth, queryClient } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { Menu } from '../ui/menu.tsx'
import { Card } from '../ui/page.tsx'
import { Loaded } from '../ui/states.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { useUiText } from '../ui/text.ts'
import { Time } from '../ui/time.tsx'
import { AddPasskey } from './add-passkey.tsx'
import { ProofDialog } from './proof-dialog.tsx'
import { passkeysQuery, signInOptionsQuery } from './queries.ts'
import { useSecurityText } from './security-text.ts'

const refresh = () => queryClient.invalidateQueries({ queryKey: ['session'] })

/** Keys that sign in without password and code. */
export function PasskeysCard({ person }: { person: Person }) {
  const t = useSecurityText()
  const query = useQuery(passkeysQuery)
  const origin = useQuery(signInOptionsQuery).data?.passkey_origin ?? null
  const isPossible = origin === location.origin
  const elsewhere = origin === null ? t.passkeysImpossible : t.passkeysElsewhere(origin)
  const [isAdding, setIsAdding] = useState(false)
  const add = isPossible ? <Button onClick={() => setIsAdding(true)}>{t.addPasskey}</Button> : null
  return (
    <Card title={t.passkeys} actions={add}>
      <Loaded query={query}>
        {({ items }) =>
          items.length > 0 ? (
            <Passkeys person={person} items={items} />
          ) : (
            <div className="body">
              <p className="muted">{isPossible ? t.passkeysAbout : elsewhere}</p>
            </div>
          )
        }
      </Loaded>
      {isAdding ? <AddPasskey person={person} onAdded={refresh} onClose={() => setIsAdding(false)} /> : null}
    </Card>
  )
}

function Passkeys({ person, items }: { person: Person; items: readonly Passkey[] }) {
  const t = useSecurityText()
  const words = useUiText()
  const [renamed, setRenamed] = useState<Passkey | null>(null)
  const [removed, setRemoved] = useState<Passkey | null>(null)
  const columns: Column<Passkey>[] = [
    { title: t.passkeyName, cell: ({ name }) => <span className="title">{name}</span> },
    { title: t.kept, cell: ({ is_synced }) => (is_synced ? t.synced : t.oneDevice) },
    { title: t.lastUsed, cell: ({ last_used_at }) => (last_used_at ? <Time at={last_used_at} /> : '—') },
    { title: t.added, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: '',
      isNumber: true,
      cell: (passkey) => (
        <Menu
          label={words.actions(passkey.name)}
          items={[
            { title: t.rename, onSelect: () => setRenamed(passkey) },
            { title: t.removePasskey, isDangerous: true, onSelect: () => setRemoved(passkey) },
          ]}
        />
      ),
    },
  ]
  return (
    <>
      <Table label={t.passkeys} rows={items} columns={columns} idOf={({ passkey_id }) => passkey_id} />
      {removed ? (
        <ProofDialog
          person={person}
          title={t.removePasskeyTitle(removed.name)}
          about={t.othersEnd}
          submit={t.removePasskey}
          change={(proof) => berth.passkeys.delete(removed.passkey_id, proof)}
          onClose={() => setRemoved(null)}
        />
      ) : null}
      {renamed ? (
        <RenameDialog
          name={renamed.name}
          rename={(name) => berth.passkeys.update(renamed.passkey_id, { name })}
          onRenamed={refresh}
          onClose={() => setRenamed(null)}
        />
      ) : null}
    </>
  )
}
