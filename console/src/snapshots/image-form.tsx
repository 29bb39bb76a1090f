import type { Image, Zone } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { berth } from '../client.ts'
import { refreshImages } from '../image-queries.ts'
import { snapshotsQuery } from '../servers/copies/queries.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useImagesText } from './images-text.ts'

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
      {percent === null ? null : (
        <p>
          <progress className="bar" max={100} value={percent} aria-label={t.uploading} /> {percent}%{' '}
          <span className="muted">{t.keepOpen}</span>
        </p>
      )}
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

/** The facts of a system that no file tells. */
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

/** Creates the image, and uploads its file; the upload ends when the form is closed. */
function useCreation(wanted: Wanted, onDone: () => void) {
  const [percent, setPercent] = useState<number | null>(null)
  const closing = useRef(new AbortController())
  useEffect(() => {
    closing.current = new AbortController()
    return () => closing.current.abort()
  }, [])
  const create = useMutation({
    mutationFn: async () => {
      const { source, snapshot_id, url, zone_slug, username } = wanted
      const name = wanted.name.trim()
      const user = username.trim() === '' ? {} : { default_username: username.trim() }
      const { signal } = closing.current
      if (source === 'snapshot') return berth.images.create({ name, snapshot_id })
      if (source === 'url') return berth.images.create({ name, url: url.trim(), zone_slug, ...user })
      const file = wanted.file ?? new File([], name)
      const begun =
        (await unfinished(name, file.size)) ??
        (await berth.images.create({ name, upload: true, content_bytes: file.size, zone_slug, ...user }))
      const onProgress = (arrived: number, all: number) => setPercent(Math.floor((arrived / all) * 100))
      await berth.images.upload(begun.image_id, file, { signal, onProgress })
      return berth.images.import(begun.image_id)
    },
    onSettled: () => setPercent(null),
    onSuccess: async () => {
      await refreshImages()
      onDone()
    },
  })
  return { create, percent }
}

/** The image whose upload was begun before, with the same file. */
async function unfinished(name: string, bytes: number): Promise<Image | undefined> {
  const { items } = await berth.images.list({ limit: 200 })
  return items.find(
    (image) => image.status === 'uploading' && image.name === name && image.content_bytes === bytes,
  )
}
