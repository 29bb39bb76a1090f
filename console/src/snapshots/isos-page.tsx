import type { Iso } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { RenameDialog } from '../account/rename-dialog.tsx'
import { berth } from '../client.ts'
import { UNKNOWN, useFormats } from '../format.ts'
import { isosQuery, refreshIsos } from '../iso-queries.ts'
import { zonesQuery } from '../servers/queries.ts'
import { DeleteResource } from '../ui/delete-resource.tsx'
import type { Example } from '../ui/example.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'
import { useImagesText } from './images-text.ts'
import { IsoForm } from './iso-form.tsx'
import { useIsosText } from './isos-text.ts'

const examples: readonly Example[] = [
  { route: 'GET /isos', berth: 'berth iso list', sdk: 'isos.list' },
  {
    route: 'POST /isos',
    body: { name: 'installer', upload: true, content_bytes: 662700032, zone_slug: '…' },
    berth: 'berth iso upload installer.iso',
    sdk: 'isos.create',
  },
]

type Asked = { what: 'rename' | 'delete'; iso: Iso } | null

export function IsosPage() {
  const t = useIsosText()
  const words = useImagesText()
  const format = useFormats()
  const query = useQuery(isosQuery)
  const zones = useQuery(zonesQuery).data
  const [asked, setAsked] = useState<Asked>(null)
  const places = (zones ?? []).filter(({ features }) => features.includes('isos'))
  const hasZones = places.length > 0
  return (
    <>
      <ResourcePage
        title={t.title}
        about={t.about}
        query={query}
        idOf={({ iso_id }) => iso_id}
        nameOf={({ name }) => name}
        empty={{ title: t.none, about: zones && !hasZones ? t.noZones : t.noneAbout }}
        examples={examples}
        scope="servers:write"
        columns={[
          { title: words.name, cell: ({ name }) => name },
          { title: words.status, isWrapped: true, cell: (iso) => <Status iso={iso} /> },
          { title: words.zone, cell: ({ zone_slug }) => zone_slug ?? t.everyZone },
          {
            title: words.size,
            isNumber: true,
            cell: ({ size_gb }) => (size_gb === null ? UNKNOWN : words.gb(size_gb)),
          },
          {
            title: words.month,
            isNumber: true,
            cell: ({ price_month_rub }) => format.money(price_month_rub),
          },
          {
            title: words.created,
            cell: ({ created_at }) => (created_at === null ? t.ofOperator : <Time at={created_at} />),
          },
        ]}
        actionsOf={(iso) =>
          iso.type === 'public'
            ? []
            : [
                { title: words.rename, onSelect: () => setAsked({ what: 'rename', iso }) },
                {
                  title: words.delete,
                  icon: 'trash',
                  isDangerous: true,
                  onSelect: () => setAsked({ what: 'delete', iso }),
                },
              ]
        }
        create={
          hasZones ? { title: t.add, form: (close) => <IsoForm zones={places} onDone={close} /> } : undefined
        }
      />
      {asked ? <Dialogs asked={asked} onClose={() => setAsked(null)} /> : null}
    </>
  )
}

function Status({ iso: { status, status_reason } }: { iso: Iso }) {
  const t = useIsosText()
  return (
    <>
      {t.statuses[status]}
      {status_reason === null ? null : <p className="muted small">{status_reason}</p>}
    </>
  )
}

function Dialogs({ asked: { what, iso }, onClose }: { asked: NonNullable<Asked>; onClose: () => void }) {
  const t = useIsosText()
  const { iso_id, name } = iso
  if (what === 'rename')
    return (
      <RenameDialog
        name={name}
        rename={(next) => berth.isos.update(iso_id, { name: next })}
        onRenamed={refreshIsos}
        onClose={onClose}
      />
    )
  return (
    <DeleteResource
      title={t.deleteTitle(name)}
      name={name}
      resource="iso"
      remove={() => berth.isos.delete(iso_id)}
      onClose={onClose}
    >
      <p>{t.deleteAbout}</p>
    </DeleteResource>
  )
}
