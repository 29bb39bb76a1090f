import type { Address } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { UNKNOWN, useFormats } from '../format.ts'
import { addressesQuery } from '../network-queries.ts'
import { zonesQuery } from '../servers/queries.ts'
import { Copy } from '../ui/copy.tsx'
import { DeleteResource } from '../ui/delete-resource.tsx'
import type { Example } from '../ui/example.ts'
import { ResourcePage } from '../ui/resource-page.tsx'
import { Failed } from '../ui/states.tsx'
import { AddressForm, MoveDialog, ReverseDialog } from './address-forms.tsx'
import { ServerName } from './network-page.tsx'
import { useNetworksText } from './text.ts'
import { useServers } from './use-servers.ts'

const examples: readonly Example[] = [
  { route: 'GET /addresses', berth: 'berth address list', sdk: 'addresses.list' },
  {
    route: 'POST /addresses',
    body: { zone_slug: 'local-1', family: 'ipv4' },
    berth: 'berth address create',
    sdk: 'addresses.create',
  },
  {
    route: 'PATCH /addresses/{address_id}',
    path: { address_id: '…' },
    body: { server_id: '…' },
    berth: 'berth address assign 203.0.113.7 web-1',
    sdk: 'addresses.update',
  },
]

type Asked = { what: 'move' | 'reverse' | 'release'; address: Address } | null

export function AddressesPage() {
  const t = useNetworksText()
  const format = useFormats()
  const query = useQuery(addressesQuery)
  const zones = useQuery(zonesQuery).data
  const { nameOf } = useServers()
  const [asked, setAsked] = useState<Asked>(null)
  const close = () => setAsked(null)
  const take = useMutation({
    mutationFn: ({ address_id }: Address) => berth.addresses.update(address_id, { server_id: null }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['address'] }),
  })
  const offering = (zones ?? []).filter(
    ({ features }) => features.includes('public_ipv4') || features.includes('public_ipv6'),
  )
  return (
    <>
      <ResourcePage
        title={t.addresses}
        about={t.addressesAbout}
        query={query}
        idOf={({ address_id }) => address_id}
        nameOf={({ address }) => address}
        empty={{
          title: t.noAddresses,
          about: zones && offering.length === 0 ? t.noAddressZones : t.noAddressesAbout,
        }}
        examples={examples}
        scope="servers:write"
        columns={[
          { title: t.address, cell: ({ address }) => <Copy text={address} /> },
          {
            title: t.server,
            cell: ({ server_id: id }) =>
              id ? <ServerName id={id} name={nameOf(id)} /> : <span className="muted">{t.unassigned}</span>,
          },
          {
            title: t.reverse,
            cell: ({ reverse_dns }) => <span className="mono">{reverse_dns ?? UNKNOWN}</span>,
          },
          { title: t.zone, cell: ({ zone_slug }) => zone_slug },
          { title: t.month, isNumber: true, cell: ({ price_month_rub }) => format.money(price_month_rub) },
        ]}
        actionsOf={(address) => [
          { title: t.move, onSelect: () => setAsked({ what: 'move', address }) },
          { title: t.take, isDisabled: address.server_id === null, onSelect: () => take.mutate(address) },
          { title: t.reverse, onSelect: () => setAsked({ what: 'reverse', address }) },
          {
            title: t.release,
            icon: 'trash',
            isDangerous: true,
            onSelect: () => setAsked({ what: 'release', address }),
          },
        ]}
        create={
          offering.length > 0
            ? { title: t.reserve, form: (done) => <AddressForm zones={offering} onDone={done} /> }
            : undefined
        }
      />
      {take.error ? <Failed error={take.error} /> : null}
      {asked?.what === 'move' ? <MoveDialog address={asked.address} onClose={close} /> : null}
      {asked?.what === 'reverse' ? <ReverseDialog address={asked.address} onClose={close} /> : null}
      {asked?.what === 'release' ? <Release address={asked.address} onClose={close} /> : null}
    </>
  )
}

function Release({ address: { address_id, address, server_id }, onClose }: ReleaseProps) {
  const t = useNetworksText()
  const { nameOf } = useServers()
  return (
    <DeleteResource
      title={t.releaseTitle(address)}
      name={address}
      resource="address"
      remove={() => berth.addresses.delete(address_id, server_id === null ? {} : { force: true })}
      onClose={onClose}
    >
      <p>{t.releaseAbout}</p>
      {server_id ? <p>{t.releaseUsed(nameOf(server_id))}</p> : null}
    </DeleteResource>
  )
}

interface ReleaseProps {
  address: Address
  onClose: () => void
}
