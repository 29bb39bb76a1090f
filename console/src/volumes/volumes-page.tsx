import type { Volume } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { RenameDialog } from '../account/rename-dialog.tsx'
import { berth } from '../client.ts'
import { UNKNOWN, useFormats } from '../format.ts'
import { ServerName } from '../networks/network-page.tsx'
import { useServers } from '../networks/use-servers.ts'
import { zonesQuery } from '../servers/queries.ts'
import { Copy } from '../ui/copy.tsx'
import { DeleteResource } from '../ui/delete-resource.tsx'
import type { Example } from '../ui/example.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { volumesQuery } from './queries.ts'
import { useVolumesText } from './text.ts'
import { AttachDialog, DetachDialog, GrowDialog, refresh, VolumeForm } from './volume-forms.tsx'

const examples: readonly Example[] = [
  { route: 'GET /volumes', berth: 'berth volume list', sdk: 'volumes.list' },
  {
    route: 'POST /volumes',
    body: { name: 'data', zone_slug: 'local-1', size_gb: 10 },
    berth: 'berth volume create data --size 10',
    sdk: 'volumes.create',
  },
  {
    route: 'POST /volumes/{volume_id}/attach',
    path: { volume_id: '…' },
    body: { server_id: '…' },
    berth: 'berth volume attach data web-1',
    sdk: 'volumes.attach',
  },
]

type Asked = { what: 'attach' | 'detach' | 'grow' | 'rename' | 'delete'; volume: Volume } | null

export function VolumesPage() {
  const t = useVolumesText()
  const format = useFormats()
  const query = useQuery(volumesQuery)
  const zones = useQuery(zonesQuery).data
  const { nameOf } = useServers()
  const [asked, setAsked] = useState<Asked>(null)
  const offering = (zones ?? []).filter(({ features }) => features.includes('volumes'))
  return (
    <>
      <ResourcePage
        title={t.title}
        about={t.about}
        query={query}
        idOf={({ volume_id }) => volume_id}
        nameOf={({ name }) => name}
        empty={{ title: t.none, about: zones && offering.length === 0 ? t.noZones : t.noneAbout }}
        examples={examples}
        scope="servers:write"
        columns={[
          { title: t.name, cell: ({ name }) => name },
          { title: t.status, cell: ({ status }) => t.statuses[status] },
          {
            title: t.server,
            cell: ({ server_id: id }) =>
              id ? <ServerName id={id} name={nameOf(id)} /> : <span className="muted">{UNKNOWN}</span>,
          },
          {
            title: t.device,
            cell: ({ device }) =>
              device ? <Copy text={device} /> : <span className="muted">{UNKNOWN}</span>,
          },
          { title: t.size, isNumber: true, cell: ({ size_gb }) => t.gb(size_gb) },
          { title: t.zone, cell: ({ zone_slug }) => zone_slug },
          { title: t.month, isNumber: true, cell: ({ price_month_rub }) => format.money(price_month_rub) },
        ]}
        actionsOf={(volume) => [
          volume.server_id === null
            ? { title: t.attach, onSelect: () => setAsked({ what: 'attach', volume }) }
            : { title: t.detach, onSelect: () => setAsked({ what: 'detach', volume }) },
          { title: t.grow, onSelect: () => setAsked({ what: 'grow', volume }) },
          { title: t.rename, onSelect: () => setAsked({ what: 'rename', volume }) },
          {
            title: t.delete,
            icon: 'trash',
            isDangerous: true,
            isDisabled: volume.server_id !== null,
            onSelect: () => setAsked({ what: 'delete', volume }),
          },
        ]}
        create={
          offering.length > 0
            ? { title: t.make, form: (close) => <VolumeForm zones={offering} onDone={close} /> }
            : undefined
        }
      />
      {asked ? (
        <Dialogs asked={asked} server={nameOf(asked.volume.server_id ?? '')} onClose={() => setAsked(null)} />
      ) : null}
    </>
  )
}

interface DialogsProps {
  asked: NonNullable<Asked>
  /** The name of its server. */
  server: string
  onClose: () => void
}

function Dialogs({ asked: { what, volume }, server, onClose }: DialogsProps) {
  const t = useVolumesText()
  const { volume_id, name } = volume
  if (what === 'attach') return <AttachDialog volume={volume} onClose={onClose} />
  if (what === 'detach') return <DetachDialog volume={volume} server={server} onClose={onClose} />
  if (what === 'grow') return <GrowDialog volume={volume} onClose={onClose} />
  if (what === 'rename')
    return (
      <RenameDialog
        name={name}
        rename={(next) => berth.volumes.update(volume_id, { name: next })}
        onRenamed={refresh}
        onClose={onClose}
      />
    )
  return (
    <DeleteResource
      title={t.deleteTitle(name)}
      name={name}
      resource="volume"
      remove={() => berth.volumes.delete(volume_id)}
      onClose={onClose}
    >
      <p>{t.deleteAbout}</p>
    </DeleteResource>
  )
}
