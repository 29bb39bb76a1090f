import type { Address, AddressUpdate, Zone } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { Dialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { useFieldError } from '../ui/problems.ts'
import { useUiText } from '../ui/text.ts'
import { useNetworksText } from './text.ts'
import { optionsOf, useServers } from './use-servers.ts'

const refresh = () => queryClient.invalidateQueries({ queryKey: ['address'] })

/** @param zones those that have public addresses */
export function AddressForm({ zones, onDone }: { zones: readonly Zone[]; onDone: () => void }) {
  const t = useNetworksText()
  const { servers } = useServers()
  const [zone_slug, setZone] = useState(zones[0]?.zone_slug ?? '')
  const [chosen, setFamily] = useState<Address['family']>('ipv4')
  const [server_id, setServer] = useState('')
  const families = (['ipv4', 'ipv6'] as const).filter((one) =>
    zones.some((zone) => zone.zone_slug === zone_slug && zone.features.includes(`public_${one}`)),
  )
  const family = families.includes(chosen) ? chosen : (families[0] ?? chosen)
  const create = useMutation({
    mutationFn: () =>
      berth.addresses.create({ zone_slug, family, ...(server_id === '' ? {} : { server_id }) }),
    onSuccess: async () => {
      await refresh()
      onDone()
    },
  })
  const here = servers.filter((server) => server.zone_slug === zone_slug)
  return (
    <Form submit={t.reserve} mutation={create} onSubmit={() => create.mutate()} onCancel={onDone}>
      {zones.length > 1 ? (
        <SelectField
          label={t.zone}
          value={zone_slug}
          options={zones.map(({ zone_slug: value, title }) => ({ value, title }))}
          onChange={setZone}
        />
      ) : null}
      <SelectField
        label={t.family}
        value={family}
        options={families.map((value) => ({ value, title: t.families[value] }))}
        onChange={setFamily}
      />
      <SelectField
        label={t.server}
        value={server_id}
        options={optionsOf(here, t.unassigned)}
        onChange={setServer}
      />
    </Form>
  )
}

interface AddressDialogProps {
  address: Address
  onClose: () => void
}

function useUpdate({ address_id }: Address, onClose: () => void) {
  return useMutation({
    mutationFn: (change: AddressUpdate) => berth.addresses.update(address_id, change),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
}

export function MoveDialog({ address, onClose }: AddressDialogProps) {
  const t = useNetworksText()
  const { servers } = useServers()
  const [server_id, setServer] = useState('')
  const move = useUpdate(address, onClose)
  const others = servers.filter(
    (server) => server.zone_slug === address.zone_slug && server.server_id !== address.server_id,
  )
  return (
    <Dialog title={`${t.move}: ${address.address}`} onClose={onClose}>
      <Form
        submit={t.move}
        mutation={move}
        isReady={server_id !== ''}
        onSubmit={() => move.mutate({ server_id })}
        onCancel={onClose}
      >
        <p className="muted">{others.length === 0 ? t.noMore : t.moveAbout}</p>
        <SelectField
          label={t.server}
          value={server_id}
          options={optionsOf(others, t.choose)}
          onChange={setServer}
        />
      </Form>
    </Dialog>
  )
}

export function ReverseDialog({ address, onClose }: AddressDialogProps) {
  const t = useNetworksText()
  const words = useUiText()
  const [name, setName] = useState(address.reverse_dns ?? '')
  const save = useUpdate(address, onClose)
  const fieldError = useFieldError(save.error)
  return (
    <Dialog title={`${t.reverse}: ${address.address}`} onClose={onClose}>
      <Form
        submit={words.save}
        mutation={save}
        onSubmit={() => save.mutate({ reverse_dns: name.trim() || null })}
        onCancel={onClose}
      >
        <TextField
          label={t.reverse}
          hint={t.reverseHint}
          error={fieldError('reverse_dns')}
          value={name}
          autoFocus
          onChange={(event) => setName(event.target.value)}
        />
      </Form>
    </Dialog>
  )
}
