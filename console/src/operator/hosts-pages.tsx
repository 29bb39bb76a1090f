import type { OperatedImage, ZoneRoom } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { UNKNOWN, useFormats } from '../format.ts'
import { Page } from '../ui/page.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Status, type Tone } from '../ui/status.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { imagesQuery, roomQuery } from './queries.ts'
import { useOperatorText } from './text.ts'

export function CapacityPage() {
  const t = useOperatorText()
  const query = useQuery(roomQuery)
  const columns = useRoomColumns()
  return (
    <Page title={t.capacity} about={t.capacityAbout}>
      <Loaded query={query}>
        {(zones) => (
          <Table label={t.capacity} rows={zones} columns={columns} idOf={({ zone_slug }) => zone_slug} />
        )}
      </Loaded>
    </Page>
  )
}

function useRoomColumns(): Column<ZoneRoom>[] {
  const t = useOperatorText()
  const format = useFormats()
  const part = (title: string, name: 'cpu' | 'ram_mb' | 'disk_gb', shown: (value: number) => string) => ({
    title,
    cell: ({ title: zone, total, used }: ZoneRoom) => (
      <>
        {shown(used[name])} / {total ? shown(total[name]) : UNKNOWN}
        {total && total[name] > 0 ? (
          <progress
            className="bar"
            max={total[name]}
            value={Math.min(used[name], total[name])}
            aria-label={`${zone}: ${title}`}
          />
        ) : null}
      </>
    ),
  })
  return [
    {
      title: t.zone,
      cell: ({ title, zone_slug, is_retired, total }) => (
        <>
          <span className="title">{title}</span> <span className="muted">{zone_slug}</span>
          {is_retired ? <span className="tag">{t.retired}</span> : null}
          {total ? null : <Status tone="bad">{t.silent}</Status>}
        </>
      ),
    },
    { title: t.pool, cell: ({ pool }) => <span className="mono">{pool}</span> },
    part(t.cpu, 'cpu', (value) => format.number(value)),
    part(t.ram, 'ram_mb', (value) => format.ram(value)),
    part(t.disk, 'disk_gb', (value) => t.gb(format.number(value))),
  ]
}

const tones: Record<OperatedImage['status'], Tone> = {
  absent: 'off',
  preparing: 'busy',
  ready: 'good',
  failed: 'bad',
  unknown: 'warn',
}

export function ImagesPage() {
  const t = useOperatorText()
  const query = useQuery(imagesQuery)
  const columns = useImageColumns()
  return (
    <Page title={t.images} about={t.imagesAbout}>
      <Loaded query={query}>
        {(images) =>
          images.length === 0 ? (
            <div className="card">
              <Empty title={t.noImages} />
            </div>
          ) : (
            <Table
              label={t.images}
              rows={images}
              columns={columns}
              idOf={({ template, pool }) => `${template} ${pool}`}
            />
          )
        }
      </Loaded>
    </Page>
  )
}

function useImageColumns(): Column<OperatedImage>[] {
  const t = useOperatorText()
  const format = useFormats()
  return [
    {
      title: t.image,
      cell: ({ template, is_retired }) => (
        <>
          <span className="title">{template}</span>{' '}
          {is_retired ? <span className="tag">{t.retired}</span> : null}
        </>
      ),
    },
    { title: t.pool, cell: ({ pool }) => <span className="mono">{pool}</span> },
    {
      title: t.status,
      cell: ({ template, status, progress }) => (
        <>
          <Status tone={tones[status]}>
            {t.imageStatuses[status]}
            {progress === null ? null : ` ${progress}%`}
          </Status>
          {progress === null ? null : (
            <progress className="bar" max={100} value={progress} aria-label={`${template}: ${t.progress}`} />
          )}
        </>
      ),
    },
    { title: t.size, isNumber: true, cell: ({ bytes }) => format.bytes(bytes) },
    { title: t.detail, isWrapped: true, cell: ({ detail }) => detail ?? UNKNOWN },
  ]
}
