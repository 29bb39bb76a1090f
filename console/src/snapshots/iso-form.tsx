import type { Zone } from '@berth/sdk'
import { useState } from 'react'
import { berth } from '../client.ts'
import { refreshIsos } from '../iso-queries.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useImagesText } from './images-text.ts'
import { useIsosText } from './isos-text.ts'
import { UploadProgress } from './upload-progress.tsx'
import { useUpload } from './use-upload.ts'

/** The form for another ISO: from a file of this computer, or from one at an address. */
export function IsoForm({ zones, onDone }: { zones: readonly Zone[]; onDone: () => void }) {
  const t = useIsosText()
  const words = useImagesText()
  const [source, setSource] = useState<'file' | 'url'>('file')
  const [given, setGiven] = useState('')
  const [file, setFile] = useState<File | null>(null)
  const [url, setUrl] = useState('')
  const [zone_slug, setZone] = useState(zones[0]?.zone_slug ?? '')
  const name = given.trim()
  const { create, percent } = useUpload(
    async (send) => {
      if (source === 'url') return berth.isos.create({ name, url: url.trim(), zone_slug })
      return send(file ?? new File([], name), {
        all: async () => (await berth.isos.list({ limit: 200 })).items,
        create: (content_bytes) => berth.isos.create({ name, upload: true, content_bytes, zone_slug }),
        name,
        id: ({ iso_id }) => iso_id,
        upload: berth.isos.upload,
        import: berth.isos.import,
      })
    },
    async () => {
      await refreshIsos()
      onDone()
    },
  )
  return (
    <Form
      submit={source === 'file' ? t.upload : t.addNow}
      mutation={create}
      isReady={(source === 'file' ? file !== null : url.trim() !== '') && name !== ''}
      onSubmit={() => create.mutate()}
      onCancel={onDone}
    >
      <SelectField
        label={t.source}
        value={source}
        options={(['file', 'url'] as const).map((value) => ({ value, title: t.sources[value] }))}
        onChange={setSource}
      />
      {source === 'file' ? (
        <TextField
          label={words.file}
          hint={t.fileHint}
          type="file"
          disabled={create.isPending}
          onChange={(event) => {
            const chosen = event.target.files?.[0] ?? null
            setFile(chosen)
            setGiven(given || (chosen?.name ?? ''))
          }}
        />
      ) : (
        <TextField
          label={words.url}
          hint={t.urlHint}
          type="url"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
      )}
      <TextField label={words.name} value={given} onChange={(event) => setGiven(event.target.value)} />
      <SelectField
        label={words.zone}
        value={zone_slug}
        options={zones.map((zone) => ({ value: zone.zone_slug, title: zone.zone_slug }))}
        onChange={setZone}
      />
      <UploadProgress percent={percent} />
    </Form>
  )
}
