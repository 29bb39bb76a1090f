import type { SshKey } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import { Copy } from '../ui/copy.tsx'
import type { Example } from '../ui/example.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'
import { sshKeysQuery } from './queries.ts'
import { RenameDialog } from './rename-dialog.tsx'
import { SshKeyForm } from './ssh-key-form.tsx'
import { useAccountText } from './text.ts'

const examples: readonly Example[] = [
  { route: 'GET /account/ssh_keys', berth: 'berth ssh-key list', sdk: 'sshKeys.list' },
  {
    route: 'POST /account/ssh_keys',
    body: { name: 'laptop', public_key: 'ssh-ed25519 AAAA…' },
    berth: 'berth ssh-key add laptop --file ~/.ssh/id_ed25519.pub',
    sdk: 'sshKeys.create',
  },
]

const refresh = () => queryClient.invalidateQueries({ queryKey: ['ssh_key'] })

/** The page to copy for a small resource. */
export function SshKeysPage() {
  const t = useAccountText()
  const query = useQuery(sshKeysQuery)
  const [renamed, setRenamed] = useState<SshKey | null>(null)
  const [deleted, setDeleted] = useState<SshKey | null>(null)
  return (
    <>
      <ResourcePage
        title={t.sshKeys}
        about={t.sshKeysAbout}
        query={query}
        idOf={({ ssh_key_id }) => ssh_key_id}
        nameOf={({ name }) => name}
        empty={{ title: t.noKeys, about: t.noKeysAbout }}
        examples={examples}
        scope="account:write"
        columns={[
          { title: t.name, cell: ({ name }) => <span className="title">{name}</span> },
          { title: t.fingerprint, cell: ({ fingerprint }) => <Copy text={fingerprint} /> },
          { title: t.type, cell: ({ key_type }) => <span className="mono">{key_type}</span> },
          { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        actionsOf={(key) => [
          { title: t.rename, onSelect: () => setRenamed(key) },
          { title: t.delete, icon: 'trash', isDangerous: true, onSelect: () => setDeleted(key) },
        ]}
        create={{ title: t.addKey, form: (close) => <SshKeyForm onAdded={close} onCancel={close} /> }}
      />
      {renamed ? (
        <RenameDialog
          name={renamed.name}
          rename={(name) => berth.sshKeys.update(renamed.ssh_key_id, { name })}
          onRenamed={refresh}
          onClose={() => setRenamed(null)}
        />
      ) : null}
      {deleted ? <DeleteKey sshKey={deleted} onClose={() => setDeleted(null)} /> : null}
    </>
  )
}

function DeleteKey({ sshKey, onClose }: { sshKey: SshKey; onClose: () => void }) {
  const t = useAccountText()
  const remove = useMutation({
    mutationFn: () => berth.sshKeys.delete(sshKey.ssh_key_id),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <ConfirmDelete title={t.deleteKey(sshKey.name)} name={sshKey.name} mutation={remove} onClose={onClose}>
      <p>{t.deleteKeyAbout}</p>
    </ConfirmDelete>
  )
}
