import type { Preset } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useFormats } from '../../format.ts'
import { Approximately } from '../../people/approximately.tsx'
import { Segments } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { capacityQuery, limitsQuery, presetsQuery } from '../queries.ts'
import { Choices } from './choices.tsx'
import type { ChangeOrder, Order } from './order.ts'
import { Slider } from './slider.tsx'
import { useCreateText } from './text.ts'

type Size = Pick<Preset, 'cpu' | 'ram_mb' | 'disk_gb'>

interface PlanSectionProps {
  order: Pick<Order, 'plan_type' | 'zone_slug' | 'cpu_type' | 'preset' | 'cpu' | 'ram_mb' | 'disk_gb'>
  onChange: ChangeOrder
  /** The smallest disk, which the image or the present disk sets. */
  smallestDisk: number
}

export function PlanSection({ order, onChange, smallestDisk }: PlanSectionProps) {
  const t = useCreateText()
  const kinds = [
    { value: 'preset', title: t.preset },
    { value: 'custom', title: t.custom },
  ] as const
  return (
    <Card
      title={t.plan}
      actions={
        <Segments
          label={t.plan}
          value={order.plan_type}
          options={kinds}
          onChange={(plan_type) => onChange({ plan_type })}
        />
      }
    >
      {order.plan_type === 'preset' ? (
        <Presets order={order} onChange={onChange} smallestDisk={smallestDisk} />
      ) : (
        <Sliders order={order} onChange={onChange} smallestDisk={smallestDisk} />
      )}
    </Card>
  )
}

function Presets({ order, onChange, smallestDisk }: PlanSectionProps) {
  const t = useCreateText()
  const query = useQuery(presetsQuery(order.zone_slug, order.cpu_type))
  const fits = ({ is_available, disk_gb }: Preset) => is_available && disk_gb >= smallestDisk
  const { data: presets = [] } = query
  const isShort = presets.some(({ is_available }) => !is_available)
  const room = useQuery({ ...capacityQuery(order.zone_slug, order.cpu_type), enabled: isShort }).data
  const wordOf = useWhyNot(room?.[0]?.max_server, smallestDisk)
  const chosen = presets.find(({ slug }) => slug === order.preset)
  const first = presets.find(fits)
  // If the chosen preset is not available, the first available one is chosen.
  const next = first && !(chosen && fits(chosen)) ? first.slug : null
  useEffect(() => {
    if (next !== null) onChange({ preset: next })
  })
  return (
    <Loaded query={query}>
      {(offered) => (
        <Choices
          label={t.plan}
          value={order.preset}
          onChange={(preset) => onChange({ preset })}
          choices={offered.map((preset) => ({
            value: preset.slug,
            isDisabled: !fits(preset),
            content: <PresetContent preset={preset} whyNot={fits(preset) ? null : wordOf(preset)} />,
          }))}
        />
      )}
    </Loaded>
  )
}

/** The parts that are short, if the zone has some room. */
function useWhyNot(room: Size | undefined, smallestDisk: number): (preset: Preset) => string {
  const t = useCreateText()
  return ({ is_available, cpu, ram_mb, disk_gb }) => {
    if (is_available && disk_gb < smallestDisk) return t.diskTooSmall
    if (!room || room.cpu === 0) return t.soldOut
    const short = [
      cpu > room.cpu ? t.cores : null,
      ram_mb > room.ram_mb ? t.memory : null,
      disk_gb > room.disk_gb ? t.disk : null,
    ].filter((part) => part !== null)
    return short.length === 0 ? t.soldOut : t.shortOf(short.join(', ').toLowerCase())
  }
}

function PresetContent({ preset, whyNot }: { preset: Preset; whyNot: string | null }) {
  const t = useCreateText()
  const format = useFormats()
  return (
    <>
      <span className="row between">
        <strong>{preset.slug}</strong>
        {whyNot === null ? null : <span className="muted small">{whyNot}</span>}
      </span>
      <span>
        {preset.cpu} CPU · {format.ram(preset.ram_mb)} · {preset.disk_gb}{' '}
        {format.locale === 'ru' ? 'ГБ' : 'GB'}
      </span>
      <span className="price">
        <b>{format.money(preset.price_month_rub)}</b> <span className="muted small">{t.month}</span>
      </span>
      <Approximately rubles={preset.price_month_rub} />
      <span className="muted small">
        {format.money(preset.price_hour_rub, 4)} {t.hour}
      </span>
    </>
  )
}

function Sliders({ order, onChange, smallestDisk }: PlanSectionProps) {
  const t = useCreateText()
  const format = useFormats()
  const query = useQuery(limitsQuery(order.zone_slug, order.cpu_type))
  const gigabytes = (value: number) => `${format.number(value)} ${format.locale === 'ru' ? 'ГБ' : 'GB'}`
  return (
    <Loaded query={query}>
      {({ cpu, ram_mb, disk_gb }) => (
        <div className="body stack">
          <Slider
            label={t.cores}
            value={order.cpu}
            range={cpu}
            onChange={(value) => onChange({ cpu: value })}
          />
          <Slider
            label={t.memory}
            value={order.ram_mb}
            range={ram_mb}
            isDoubling
            format={format.ram}
            onChange={(value) => onChange({ ram_mb: value })}
          />
          <Slider
            label={t.disk}
            value={order.disk_gb}
            range={{ ...disk_gb, min: Math.max(disk_gb.min, smallestDisk) }}
            isDoubling
            format={gigabytes}
            onChange={(value) => onChange({ disk_gb: value })}
          />
        </div>
      )}
    </Loaded>
  )
}
