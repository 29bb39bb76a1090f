import type { Image } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { RenameDialog } from '../account/rename-dialog.tsx'
import { berth } from '../client.ts'
import { UNKNOWN, useFormats } from '../format.ts'
import { imagesQuery, refreshImages } from '../image-queries.ts'
import { zonesQuery } from '../servers/queries.ts'
import { DeleteResource } from '../ui/delete-resource.tsx'
import type { Example } from '../ui/example.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Time } from '../ui/time.tsx'
import { ImageForm } from './image-form.tsx'
import { useImagesText } from './images-text.ts'

const examples: readonly Example[] = [
  { route: 'GET /images', berth: 'berth image list', sdk: 'images.list' },
  {
    route: 'POST /images',
    body: { name: 'golden', snapshot_id: '…' },
    berth: "berth image create golden --snapshot 'before the upgrade'",
    sdk: 'images.create',
  },
  {
    route: 'POST /images',
    body: { name: 'own', upload: true, content_bytes: 734003200, zone_slug: '…' },
    berth: 'berth image upload own.qcow2',
    sdk: 'images.create',
  },
]

type Asked = { what: 'rename' | 'delete'; image: Image } | null

export function ImagesPage() {
  const t = useImagesText()
  const format = useFormats()
  const query = useQuery(imagesQuery)
  const zones = useQuery(zonesQuery).data
  const [asked, setAsked] = useState<Asked>(null)
  const places = (zones ?? []).filter(({ features }) => features.includes('images'))
  const hasZones = places.length > 0
  return (
    <>
      <ResourcePage
        title={t.title}
        about={t.about}
        query={query}
        idOf={({ image_id }) => image_id}
        nameOf={({ name }) => name}
        empty={{ title: t.none, about: zones && !hasZones ? t.noZones : t.noneAbout }}
        examples={examples}
        scope="servers:write"
        columns={[
          { title: t.name, cell: ({ name }) => name },
          { title: t.status, isWrapped: true, cell: (image) => <Status image={image} /> },
          { title: t.zone, cell: ({ zone_slug }) => zone_slug },
          {
            title: t.disk,
            isNumber: true,
            cell: ({ min_disk_gb }) => (min_disk_gb === null ? UNKNOWN : t.gb(min_disk_gb)),
          },
          {
            title: t.size,
            isNumber: true,
            cell: ({ size_gb }) => (size_gb === null ? UNKNOWN : t.gb(size_gb)),
          },
          { title: t.month, isNumber: true, cell: ({ price_month_rub }) => format.money(price_month_rub) },
          { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        actionsOf={(image) => [
          { title: t.rename, onSelect: () => setAsked({ what: 'rename', image }) },
          {
            title: t.delete,
            icon: 'trash',
            isDangerous: true,
            onSelect: () => setAsked({ what: 'delete', image }),
          },
        ]}
        create={
          hasZones
            ? { title: t.make, form: (close) => <ImageForm zones={places} onDone={close} /> }
            : undefined
        }
      />
      {asked ? <Dialogs asked={asked} onClose={() => setAsked(null)} /> : null}
    </>
  )
}

function Status({ image: { status, status_reason, content_bytes, uploaded_bytes } }: { image: Image }) {
  const t = useImagesText()
  return (
    <>
      {t.statuses[status]}
      {status === 'uploading' && content_bytes
        ? ` ${Math.floor((uploaded_bytes / content_bytes) * 100)}%`
        : null}
      {status_reason === null ? null : <p className="muted small">{status_reason}</p>}
    </>
  )
}

function Dialogs({ asked: { what, image }, onClose }: { asked: NonNullable<Asked>; onClose: () => void }) {
  const t = useImagesText()
  const { image_id, name } = image
  if (what === 'rename')
    return (
      <RenameDialog
        name={name}
        rename={(next) => berth.images.update(image_id, { name: next })}
        onRenamed={refreshImages}
        onClose={onClose}
      />
    )
  return (
    <DeleteResource
      title={t.deleteTitle(name)}
      name={name}
      resource="image"
      remove={() => berth.images.delete(image_id)}
      onClose={onClose}
    >
      <p>{t.deleteAbout}</p>
    </DeleteResource>
  )
}
