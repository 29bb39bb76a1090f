import type { ServerDetails } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../../client.ts'
import { isosQuery } from '../../iso-queries.ts'
import { SelectField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Card } from '../../ui/page.tsx'
import { refreshServers } from '../actions.ts'
import { useDetailsText } from './text.ts'

/** The ISO in the drive of a server, if the zone offers ISOs. */
export function DriveCard({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const { server_id, iso_id, zone, zone_slug, allowed_actions } = server
  const [chosen, setChosen] = useState(iso_id ?? '')
  const isos = useQuery(isosQuery).data?.items ?? []
  const offered = isos.filter(
    (iso) => (iso.zone_slug === null || iso.zone_slug === zone_slug) && iso.status === 'available',
  )
  const isOffered = iso_id === null || offered.some((iso) => iso.iso_id === iso_id)
  const change = useMutation({
    mutationFn: () => berth.servers.update(server_id, { iso_id: chosen || null }),
    onSettled: refreshServers,
  })
  if (iso_id === null && !zone?.features.includes('isos')) return null
  return (
    <Card title={t.driveTitle}>
      <div className="body stack">
        <p className="muted">{t.driveAbout}</p>
        <Form
          submit={t.driveChange}
          mutation={change}
          isReady={chosen !== (iso_id ?? '') && allowed_actions.includes('update')}
          onSubmit={() => change.mutate()}
        >
          <SelectField
            label={t.driveIso}
            value={chosen}
            options={[
              { value: '', title: t.driveEmpty },
              ...(isOffered ? [] : [{ value: iso_id, title: t.driveRetired }]),
              ...offered.map((iso) => ({
                value: iso.iso_id,
                title: iso.type === 'public' ? t.drivePublic(iso.name) : iso.name,
              })),
            ]}
            onChange={setChosen}
          />
        </Form>
      </div>
    </Card>
  )
}
