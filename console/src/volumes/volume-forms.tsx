import type { Volume, Zone } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { useFormats } from '../format.ts'
import { optionsOf, useServers } from '../networks/use-servers.ts'
import { Dialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { useVolumesText } from './text.ts'

export const refresh = () => queryClient.invalidateQueries({ queryKey: ['volume'] })

/** A mutation that closes its form once it has succeeded. */
function useChange(change: () => Promise<unknown>, onDone: () => void) {
  return useMutation({
    mutationFn: change,
    onSuccess: async () => {
      await refresh()
      onDone()
    },
  })
}

/** @param zones those that have volumes */
export function VolumeForm({ zones, onDone }: { zones: readonly Zone[]; onDone: () => void }) {
  const t = useVolumesText()
  const format = useFormats()
  const [name, setName] = useState('')
  const [size, setSize] = useState('10')
  const [chosen, setZone] = useState('')
  const zone = zones.find(({ zone_slug }) => zone_slug === chosen) ?? zones[0]
  const zone_slug = zone?.zone_slug ?? ''
  const size_gb = Number(size)
  const create = useChange(() => berth.volumes.create({ name: name.trim(), zone_slug, size_gb }), onDone)
  const fieldError = useFieldError(create.error)
  const isReady = name.trim() !== '' && size_gb > 0
  const price = zone?.volume_gb_month_rub
  return (
    <Form
      submit={t.make}
      mutation={create}
      isReady={isReady}
      onSubmit={() => create.mutate()}
      onCancel={onDone}
    >
      <TextField label={t.name} value={name} autoFocus onChange={(event) => setName(event.target.value)} />
      <SizeField value={size} min={1} error={fieldError('size_gb')} onChange={setSize} />
      {zones.length > 1 ? (
        <SelectField
          label={t.zone}
          value={zone_slug}
          options={zones.map(({ zone_slug: value, title }) => ({ value, title }))}
          onChange={setZone}
        />
      ) : null}
      {price && size_gb > 0 ? (
        <p className="muted">{t.monthOf(format.money((Number(price) * size_gb).toFixed(2)))}</p>
      ) : null}
    </Form>
  )
}

interface SizeFieldProps {
  value: string
  min: number
  error: string | null
  onChange: (value: string) => void
}

function SizeField({ value, min, error, onChange }: SizeFieldProps) {
  const t = useVolumesText()
  return (
    <TextField
      label={t.sizeGb}
      type="number"
      min={min}
      max={4096}
      error={error}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

interface VolumeDialogProps {
  volume: Volume
  onClose: () => void
}

export function AttachDialog({ volume: { volume_id, name, zone_slug }, onClose }: VolumeDialogProps) {
  const t = useVolumesText()
  const { servers } = useServers()
  const [server_id, setServer] = useState('')
  const attach = useChange(() => berth.volumes.attach(volume_id, { server_id }), onClose)
  const here = servers.filter((server) => server.zone_slug === zone_slug)
  return (
    <Dialog title={t.attachTitle(name)} onClose={onClose}>
      <Form
        submit={t.attach}
        mutation={attach}
        isReady={server_id !== ''}
        onSubmit={() => attach.mutate()}
        onCancel={onClose}
      >
        <p className="muted">{here.length === 0 ? t.noServers : t.attachAbout}</p>
        <SelectField
          label={t.server}
          value={server_id}
          options={optionsOf(here, t.choose)}
          onChange={setServer}
        />
      </Form>
    </Dialog>
  )
}

export function DetachDialog({ volume, server, onClose }: VolumeDialogProps & { server: string }) {
  const t = useVolumesText()
  const { volume_id, name } = volume
  const detach = useChange(() => berth.volumes.detach(volume_id), onClose)
  return (
    <Dialog title={t.detachTitle(name, server)} onClose={onClose}>
      <Form submit={t.detach} mutation={detach} onSubmit={() => detach.mutate()} onCancel={onClose}>
        <p className="muted">{t.detachAbout}</p>
      </Form>
    </Dialog>
  )
}

export function GrowDialog({ volume: { volume_id, name, size_gb }, onClose }: VolumeDialogProps) {
  const t = useVolumesText()
  const [size, setSize] = useState(String(size_gb))
  const grow = useChange(() => berth.volumes.update(volume_id, { size_gb: Number(size) }), onClose)
  const fieldError = useFieldError(grow.error)
  return (
    <Dialog title={t.growTitle(name)} onClose={onClose}>
      <Form
        submit={t.grow}
        mutation={grow}
        isReady={Number(size) > size_gb}
        onSubmit={() => grow.mutate()}
        onCancel={onClose}
      >
        <p className="muted">{t.growAbout}</p>
        <SizeField value={size} min={size_gb + 1} error={fieldError('size_gb')} onChange={setSize} />
      </Form>
    </Dialog>
  )
}
