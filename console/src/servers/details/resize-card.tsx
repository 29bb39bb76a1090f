import type { QuoteRequest, ServerDetails } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth } from '../../client.ts'
import { useFormats } from '../../format.ts'
import { Form } from '../../ui/form.tsx'
import { refreshServers } from '../actions.ts'
import { PlanSection } from '../create/plan-section.tsx'
import { useQuote } from '../create/quote.ts'
import { zonesQuery } from '../queries.ts'
import { useDetailsText } from './text.ts'

/** The form for another plan, with its price. */
export function ResizeCard({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const format = useFormats()
  const { zone_slug, cpu_type, cpu, ram_mb, disk_gb } = server
  const [plan, setPlan] = useState({
    zone_slug,
    cpu_type,
    plan_type: server.plan_type,
    preset: server.preset?.slug ?? '',
    cpu,
    ram_mb,
    disk_gb,
  })
  const size =
    plan.plan_type === 'preset'
      ? { plan_type: plan.plan_type, preset: plan.preset }
      : { plan_type: plan.plan_type, cpu: plan.cpu, ram_mb: plan.ram_mb, disk_gb: plan.disk_gb }
  const request: QuoteRequest = { ...size, zone_slug, cpu_type, enable_ipv4: server.ipv4 !== null }
  const isWhole = plan.plan_type === 'custom' || plan.preset !== ''
  const { quote } = useQuote(isWhole ? request : null)
  const resize = useMutation({
    mutationFn: () => berth.servers.update(server.server_id, size),
    onSettled: refreshServers,
  })
  const isSame =
    quote !== undefined && quote.cpu === cpu && quote.ram_mb === ram_mb && quote.disk_gb === disk_gb
  const { data: zones } = useQuery(zonesQuery)
  const isLive = zones?.find((zone) => zone.zone_slug === zone_slug)?.features.includes('live_resize')
  const onlyGrows = quote?.cpu === cpu && quote.ram_mb === ram_mb && quote.disk_gb > disk_gb
  const canGrow = isLive && server.allowed_actions.includes('grow_disk')
  const canResize = server.allowed_actions.includes('resize') || (canGrow === true && onlyGrows)
  return (
    <section className="stack" aria-label={t.resize}>
      <h2>{t.resize}</h2>
      <p className="muted">{isLive ? t.resizeAboutLive : t.resizeAbout}</p>
      <PlanSection
        order={plan}
        smallestDisk={disk_gb}
        onChange={(part) => setPlan((before) => ({ ...before, ...part }))}
      />
      <Form
        submit={t.resizeNow(format.money(quote?.price_month_rub ?? null))}
        mutation={resize}
        isReady={canResize && quote !== undefined && !isSame}
        onSubmit={() => resize.mutate()}
      >
        {null}
      </Form>
    </section>
  )
}
