import type { OperatedAnnouncement } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { UNKNOWN } from '../format.ts'
import { usePreferences } from '../preferences.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Form } from '../ui/form.tsx'
import { Menu } from '../ui/menu.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { Status } from '../ui/status.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { AnnouncementForm } from './announcement-form.tsx'
import { useAnnouncementText } from './announcement-text.ts'
import { operatedAnnouncementsQuery, PAGE } from './queries.ts'

const route = getRouteApi('/shell/operator/announcements')

interface Chosen {
  /** Null for one to create. */
  announcement: OperatedAnnouncement | null
  isEnding: boolean
}

/** Maintenance, incidents and news for customers. */
export function AnnouncementsPage() {
  const t = useAnnouncementText()
  const { offset = 0 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(operatedAnnouncementsQuery(offset))
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const columns = useColumns(setChosen)
  const create = (
    <Button kind="primary" onClick={() => setChosen({ announcement: null, isEnding: false })}>
      {t.create}
    </Button>
  )
  return (
    <Page title={t.announcements} about={t.about} actions={create}>
      <PagedTable
        query={query}
        empty={{ title: t.none }}
        label={t.announcements}
        columns={columns}
        idOf={({ announcement_id }) => announcement_id}
        page={{ offset, limit: PAGE, onChange: (next) => void navigate({ search: { offset: next } }) }}
      />
      {chosen ? <Change {...chosen} onClose={() => setChosen(null)} /> : null}
    </Page>
  )
}

function useColumns(choose: (chosen: Chosen) => void): Column<OperatedAnnouncement>[] {
  const t = useAnnouncementText()
  const { locale } = usePreferences()
  return [
    { title: t.kind, cell: ({ kind }) => t.kinds[kind] },
    { title: t.text, isWrapped: true, cell: ({ text }) => text[locale] },
    { title: t.zones, cell: ({ zones }) => zones.join(', ') || t.allZones },
    { title: t.starts, cell: ({ starts_at }) => <Time at={starts_at} /> },
    { title: t.ends, cell: ({ ends_at }) => (ends_at ? <Time at={ends_at} /> : UNKNOWN) },
    {
      title: t.status,
      cell: ({ ended_at }) => <Status tone={ended_at ? 'off' : 'good'}>{ended_at ? t.ended : t.open}</Status>,
    },
    {
      title: '',
      cell: (announcement) => (
        <Menu
          label={t.actionsOf(t.kinds[announcement.kind])}
          items={[
            { title: t.change, onSelect: () => choose({ announcement, isEnding: false }) },
            {
              title: t.end,
              isDisabled: announcement.ended_at !== null,
              onSelect: () => choose({ announcement, isEnding: true }),
            },
          ]}
        />
      ),
    },
  ]
}

function Change({ announcement, isEnding, onClose }: Chosen & { onClose: () => void }) {
  const t = useAnnouncementText()
  const onDone = async () => {
    await queryClient.invalidateQueries({ queryKey: ['operator', 'announcements'] })
    await queryClient.invalidateQueries({ queryKey: ['announcement'] })
    onClose()
  }
  const end = useMutation({
    mutationFn: (id: string) => berth.operator.endAnnouncement(id),
    onSuccess: onDone,
  })
  if (!announcement || !isEnding)
    return (
      <Dialog title={announcement ? t.change : t.create} onClose={onClose}>
        <AnnouncementForm announcement={announcement} onDone={onDone} onCancel={onClose} />
      </Dialog>
    )
  return (
    <Dialog title={t.end} onClose={onClose}>
      <Form
        submit={t.end}
        mutation={end}
        onSubmit={() => end.mutate(announcement.announcement_id)}
        onCancel={onClose}
      >
        <p>{t.endAbout}</p>
      </Form>
    </Dialog>
  )
}
