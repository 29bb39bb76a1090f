import type { Server } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { UNKNOWN, useFormats } from '../format.ts'
import { ServerName } from '../networks/network-page.tsx'
import { optionsOf, useServers } from '../networks/use-servers.ts'
import { refreshServers } from '../servers/actions.ts'
import { snapshotsQuery } from '../servers/copies/queries.ts'
import { type Asked, Dialogs, refresh } from '../servers/copies/snapshot-dialogs.tsx'
import { useSnapshotsText } from '../servers/copies/text.ts'
import { zonesQuery } from '../servers/queries.ts'
import type { Example } from '../ui/example.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'

const examples: readonly Example[] = [
  { route: 'GET /snapshots', berth: 'berth snapshot list', sdk: 'snapshots.list' },
  {
    route: 'POST /snapshots',
    body: { server_id: '…' },
    berth: 'berth snapshot create web-1',
    sdk: 'snapshots.create',
  },
  {
    route: 'POST /servers/{server_id}/restore',
    path: { server_id: '…' },
    body: { snapshot_id: '…' },
    berth: "berth server restore web-1 'before the upgrade'",
    sdk: 'servers.restore',
  },
]

export function SnapshotsPage() {
  const t = useSnapshotsText()
  const format = useFormats()
  const query = useQuery(snapshotsQuery)
  const zones = useQuery(zonesQuery).data
  const { servers, nameOf } = useServers()
  const [asked, setAsked] = useState<Asked>(null)
  const offering = (zones ?? []).filter(({ features }) => features.includes('snapshots'))
  const copyable = servers.filter(({ zone_slug }) => offering.some((zone) => zone.zone_slug === zone_slug))
  const serverOf = (id: string) => servers.find(({ server_id }) => server_id === id)
  return (
    <>
      <ResourcePage
        title={t.title}
        about={t.about}
        query={query}
        idOf={({ snapshot_id }) => snapshot_id}
        nameOf={({ name }) => name}
        empty={{ title: t.none, about: zones && offering.length === 0 ? t.noZones : t.noneAbout }}
        examples={examples}
        scope="servers:write"
        columns={[
          { title: t.name, cell: ({ name }) => name },
          {
            title: t.server,
            cell: ({ server_id: id }) =>
              serverOf(id) ? (
                <ServerName id={id} name={nameOf(id)} />
              ) : (
                <span className="muted">{UNKNOWN}</span>
              ),
          },
          {
            title: t.status,
            cell: ({ status, consistency }) => (
              <span title={consistency === 'crash' ? t.crash : undefined}>{t.statuses[status]}</span>
            ),
          },
          {
            title: t.size,
            isNumber: true,
            cell: ({ size_gb }) => (size_gb === null ? UNKNOWN : t.gb(size_gb)),
          },
          { title: t.month, isNumber: true, cell: ({ price_month_rub }) => format.money(price_month_rub) },
          { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        actionsOf={(snapshot) => [
          {
            title: t.restore,
            isDangerous: true,
            isDisabled: snapshot.status !== 'available' || !serverOf(snapshot.server_id),
            onSelect: () => setAsked({ what: 'restore', snapshot }),
          },
          { title: t.rename, onSelect: () => setAsked({ what: 'rename', snapshot }) },
          {
            title: t.delete,
            icon: 'trash',
            isDangerous: true,
            onSelect: () => setAsked({ what: 'delete', snapshot }),
          },
        ]}
        create={
          copyable.length > 0
            ? { title: t.make, form: (close) => <SnapshotForm servers={copyable} onDone={close} /> }
            : undefined
        }
      />
      {asked ? (
        <Dialogs asked={asked} server={nameOf(asked.snapshot.server_id)} onClose={() => setAsked(null)} />
      ) : null}
    </>
  )
}

function SnapshotForm({ servers, onDone }: { servers: readonly Server[]; onDone: () => void }) {
  const t = useSnapshotsText()
  const [server_id, setServer] = useState('')
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () =>
      berth.snapshots.create({ server_id, ...(name.trim() === '' ? {} : { name: name.trim() }) }),
    onSuccess: async () => {
      await Promise.all([refresh(), refreshServers()])
      onDone()
    },
  })
  return (
    <Form
      submit={t.makeNow}
      mutation={create}
      isReady={server_id !== ''}
      onSubmit={() => create.mutate()}
      onCancel={onDone}
    >
      <SelectField
        label={t.server}
        value={server_id}
        options={optionsOf(servers, t.choose)}
        onChange={setServer}
      />
      <TextField
        label={t.name}
        hint={t.nameHint}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <p className="muted">{t.makeAbout}</p>
    </Form>
  )
}
