import type { OperatedAnnouncement } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../client.ts'
import { SelectField, TextArea, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { useAnnouncementText } from './announcement-text.ts'

const kinds = ['maintenance', 'incident', 'notice'] as const

/** A time as its field shows it, on the reader's clock. */
function shown(at: string | null | undefined): string {
  if (!at) return ''
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const sent = (local: string) => new Date(local).toISOString()

interface FormProps {
  /** The one to change; null to create one. */
  announcement: OperatedAnnouncement | null
  onDone: () => Promise<void>
  onCancel: () => void
}

export function AnnouncementForm({ announcement, onDone, onCancel }: FormProps) {
  const t = useAnnouncementText()
  const [kind, setKind] = useState<OperatedAnnouncement['kind']>(announcement?.kind ?? 'maintenance')
  const [en, setEn] = useState(announcement?.text.en ?? '')
  const [ru, setRu] = useState(announcement?.text.ru ?? '')
  const [zones, setZones] = useState(announcement?.zones.join(', ') ?? '')
  const [starts, setStarts] = useState(shown(announcement?.starts_at))
  const [ends, setEnds] = useState(shown(announcement?.ends_at))
  const save = useMutation({
    mutationFn: () => {
      const body = {
        ...{ kind, text: { en: en.trim(), ru: ru.trim() } },
        zones: zones.split(/[\s,]+/).filter((slug) => slug !== ''),
        ...(starts === '' ? {} : { starts_at: sent(starts) }),
        ends_at: ends === '' ? null : sent(ends),
      }
      return announcement
        ? berth.operator.updateAnnouncement(announcement.announcement_id, body)
        : berth.operator.createAnnouncement(body)
    },
    onSuccess: onDone,
  })
  const errorOf = useFieldError(save.error)
  return (
    <Form
      submit={announcement ? t.save : t.create}
      mutation={save}
      isReady={en.trim() !== '' && ru.trim() !== ''}
      onSubmit={() => save.mutate()}
      onCancel={onCancel}
    >
      {announcement ? null : <p>{t.mailed}</p>}
      <SelectField
        label={t.kind}
        value={kind}
        options={kinds.map((value) => ({ value, title: t.kinds[value] }))}
        onChange={setKind}
      />
      <TextArea
        label={t.english}
        maxLength={1000}
        value={en}
        onChange={(event) => setEn(event.target.value)}
      />
      <TextArea
        label={t.russian}
        maxLength={1000}
        value={ru}
        onChange={(event) => setRu(event.target.value)}
      />
      <TextField
        label={t.zones}
        hint={t.zonesHint}
        value={zones}
        error={errorOf('zones')}
        onChange={(event) => setZones(event.target.value)}
      />
      <TextField
        label={t.starts}
        hint={announcement ? undefined : t.startsHint}
        type="datetime-local"
        value={starts}
        error={errorOf('starts_at')}
        onChange={(event) => setStarts(event.target.value)}
      />
      <TextField
        label={t.ends}
        hint={t.endsHint}
        type="datetime-local"
        value={ends}
        error={errorOf('ends_at')}
        onChange={(event) => setEnds(event.target.value)}
      />
    </Form>
  )
}
