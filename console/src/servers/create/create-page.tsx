import type { SshKeyList, Template, Zone } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { sshKeysQuery } from '../../account/queries.ts'
import { imagesQuery } from '../../image-queries.ts'
import { Guarded } from '../../ui/guarded.tsx'
import { Page } from '../../ui/page.tsx'
import { useFieldError } from '../../ui/problems.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { templatesQuery, zonesQuery } from '../queries.ts'
import { systemsOf } from '../systems.ts'
import { useServersText } from '../text.ts'
import { exampleOf } from './example.ts'
import { ImageSection } from './image-section.tsx'
import { KeySection } from './key-section.tsx'
import { MoreSection } from './more-section.tsx'
import { NetworkSection } from './network-section.tsx'
import type { Order } from './order.ts'
import { requestOf } from './order.ts'
import { PlaceSection } from './place-section.tsx'
import { PlanSection } from './plan-section.tsx'
import { useQuote } from './quote.ts'
import { Summary } from './summary.tsx'
import { useCreateText } from './text.ts'

/** Loads all choices; the form begins with the first of each. */
export function CreatePage() {
  const t = useCreateText()
  const zones = useQuery(zonesQuery)
  const templates = useQuery(templatesQuery)
  const keys = useQuery(sshKeysQuery)
  const all = {
    data: zones.data &&
      templates.data &&
      keys.data && { zones: zones.data, templates: templates.data, keys: keys.data },
    error: zones.error ?? templates.error ?? keys.error,
    refetch: () => Promise.all([zones.refetch(), templates.refetch(), keys.refetch()]),
  }
  if (all.data) return <OrderForm {...all.data} />
  return (
    <Page title={t.title}>
      <Loaded query={all}>{() => null}</Loaded>
    </Page>
  )
}

interface Offer {
  zones: readonly Zone[]
  templates: readonly Template[]
  keys: SshKeyList
}

function firstOrder(zone: Zone, template: Template, { items }: SshKeyList): Order {
  const [only] = items
  return {
    zone_slug: zone.zone_slug,
    cpu_type: zone.cpu_types[0] ?? 'amd',
    system: template.slug,
    plan_type: 'preset',
    preset: '',
    cpu: 1,
    ram_mb: 1024,
    disk_gb: 10,
    name: '',
    project_id: '',
    ssh_key_ids: items.length === 1 && only ? [only.ssh_key_id] : [],
    network_ids: [],
    firewall_ids: [],
    ports: '',
    enable_ipv4: true,
    enable_ipv6: true,
    user_data: '',
    labels: '',
    delete_protection: false,
    backups_enabled: false,
  }
}

function OrderForm({ zones, templates, keys }: Offer) {
  const words = useServersText()
  const zone = zones.find(({ is_available }) => is_available) ?? zones[0]
  const [template] = templates
  const order = zone && template ? firstOrder(zone, template, keys) : null
  if (!order || !zone) return <Empty title={words.noMatch} />
  return <OrderPage first={order} zone={zone} zones={zones} templates={templates} keys={keys} />
}

function OrderPage({ first, zone, zones, templates, keys }: Offer & { first: Order; zone: Zone }) {
  const t = useCreateText()
  const words = useServersText()
  const [order, setOrder] = useState(first)
  const change = (part: Partial<Order>) => setOrder({ ...order, ...part })
  const chosen = zones.find(({ zone_slug }) => zone_slug === order.zone_slug) ?? zone
  const systems = systemsOf(templates, useQuery(imagesQuery).data?.items ?? [], chosen.zone_slug)
  const image = systems.find(({ value }) => value === order.system)
  const request = requestOf(order, chosen.features)
  const isWhole = order.plan_type === 'custom' || order.preset !== ''
  const quoted = useQuote(isWhole ? request : null)
  const isNameWrong = useFieldError(quoted.query.error)('name') !== null
  const section = { order, onChange: change }
  return (
    <Page title={t.title} crumbs={<Link to="/servers">{words.servers}</Link>} examples={[exampleOf(request)]}>
      <Guarded scope="servers:write">
        <div className="order">
          <div className="stack">
            <PlaceSection {...section} zones={zones} />
            <ImageSection {...section} systems={systems} />
            <PlanSection {...section} smallestDisk={image?.minDiskGb ?? 0} />
            <KeySection {...section} keys={keys.items} />
            <NetworkSection {...section} zone={chosen} />
            <MoreSection {...section} features={chosen.features} isNameWrong={isNameWrong} />
          </div>
          <Summary order={order} request={request} image={image} quoted={quoted} isNameWrong={isNameWrong} />
        </div>
      </Guarded>
    </Page>
  )
}
