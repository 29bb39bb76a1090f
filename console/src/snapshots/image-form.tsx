import type { Zone } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { refreshImages } from '../image-queries.ts'
import { snapshotsQuery } from '../servers/copies/queries.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useImagesText } from './images-text.ts'
import { UploadProgress } from './upload-progress.tsx'
import { useUpload } from './use-upload.ts'

type Source = 'snapshot' | 'file' | 'url'

interface Wanted {
  source: Source
  name: string
  snapshot_id: string
  file: File | null
  url: string
  zone_slug: string
  username: string
}

/** The form for another image: from a snapshot, from a file of this computer, or from one at an address. */
export function ImageForm({ zones, onDone }: { zones: readonly Zone[]; onDone: () => void }) {
  const t = useImagesText()
  const [wanted, setWanted] = useState<Wanted>({
    ...{ source: 'snapshot', name: '', snapshot_id: '', file: null, url: '', username: '' },
    zone_slug: zones[0]?.zone_slug ?? '',
  })
  const change = (part: Partial<Wanted>) => setWanted((before) => ({ ...before, ...part }))
  const { create, percent } = useCreation(wanted, onDone)
  const { source, name } = wanted
  const content = { snapshot: wanted.snapshot_id, file: wanted.file?.name ?? '', url: wanted.url.trim() }[
    source
  ]
  return (
    <Form
      submit={source === 'file' ? t.upload : t.makeNow}
      mutation={create}
      isReady={content !== '' && name.trim() !== ''}
      onSubmit={() => create.mutate()}
      onCancel={onDone}
    >
      <SelectField
        label={t.source}
        value={source}
        options={(['snapshot', 'file', 'url'] as const).map((value) => ({ value, title: t.sources[value] }))}
        onChange={(value) => change({ source: value })}
      />
      {source === 'snapshot' ? <SnapshotField wanted={wanted} change={change} /> : null}
      {source === 'file' ? (
        <TextField
          label={t.file}
          hint={t.fileHint}
          type="file"
          disabled={create.isPending}
          onChange={(event) => {
            const file = event.target.files?.[0] ?? null
            change({ file, name: name || (file?.name ?? '') })
          }}
        />
      ) : null}
      {source === 'url' ? (
        <TextField
          label={t.url}
          hint={t.urlHint}
          type="url"
          value={wanted.url}
          onChange={(event) => change({ url: event.target.value })}
        />
      ) : null}
      <TextField label={t.name} value={name} onChange={(event) => change({ name: event.target.value })} />
      {source === 'snapshot' ? null : <SystemFields zones={zones} wanted={wanted} change={change} />}
      <UploadProgress percent={percent} />
      <p className="muted">{t.abouts[source]}</p>
    </Form>
  )
}

interface FieldsProps {
  wanted: Wanted
  change: (part: Partial<Wanted>) => void
}

function SnapshotField({ wanted, change }: FieldsProps) {
  const t = useImagesText()
  const snapshots = (useQuery(snapshotsQuery).data?.items ?? []).filter(
    ({ status }) => status === 'available',
  )
  return (
    <SelectField
      label={t.snapshot}
      value={wanted.snapshot_id}
      options={[
        { value: '', title: t.choose },
        ...snapshots.map((snapshot) => ({ value: snapshot.snapshot_id, title: snapshot.name })),
      ]}
      onChange={(snapshot_id) => change({ snapshot_id })}
    />
  )
}

/** The facts about a system that its file does not contain. */
function SystemFields({ zones, wanted, change }: FieldsProps & { zones: readonly Zone[] }) {
  const t = useImagesText()
  return (
    <>
      <SelectField
        label={t.zone}
        value={wanted.zone_slug}
        options={zones.map(({ zone_slug }) => ({ value: zone_slug, title: zone_slug }))}
        onChange={(zone_slug) => change({ zone_slug })}
      />
      <TextField
        label={t.username}
        hint={t.usernameHint}
        placeholder="root"
        value={wanted.username}
        onChange={(event) => change({ username: event.target.value })}
      />
    </>
  )
}

/** Creates the image, and uploads its file. */
function useCreation(wanted: Wanted, onDone: () => void) {
  return useUpload(
    async (send) => {
      const { source, snapshot_id, url, zone_slug, username } = wanted
      const name = wanted.name.trim()
      const user = username.trim() === '' ? {} : { default_username: username.trim() }
      if (source === 'snapshot') return berth.images.create({ name, snapshot_id })
      if (source === 'url') return berth.images.create({ name, url: url.trim(), zone_slug, ...user })
      return send(wanted.file ?? new File([], name), {
        all: async () => (await berth.images.list({ limit: 200 })).items,
        create: (content_bytes) =>
          berth.images.create({ name, upload: true, content_bytes, zone_slug, ...user }),
        name,
        id: ({ image_id }) => image_id,
        upload: berth.images.upload,
        import: berth.images.import,
      })
    },
    async () => {
      await refreshImages()
      onDone()
    },
  )
}
