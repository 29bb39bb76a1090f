import { isBerthError, type Network } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { networkQuery } from '../network-queries.ts'
import { refreshServers } from '../servers/actions.ts'
import { Button } from '../ui/button.tsx'
import { Copy } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { type Example, quoted } from '../ui/example.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Allowed } from '../ui/guarded.tsx'
import { Card, Page } from '../ui/page.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { useNetworksText } from './text.ts'
import { optionsOf, useServers } from './use-servers.ts'

const route = getRouteApi('/shell/networks/$networkId')

const refresh = () =>
  Promise.all([refreshServers(), queryClient.invalidateQueries({ queryKey: ['network'] })])

/** A network with the servers in it. */
export function NetworkPage() {
  const t = useNetworksText()
  const { networkId } = route.useParams()
  const query = useQuery(networkQuery(networkId))
  if (isBerthError(query.error) && query.error.status === 404)
    return (
      <div className="card">
        <Empty title={t.gone}>
          <Link to="/networks" className="button">
            {t.networks}
          </Link>
        </Empty>
      </div>
    )
  return <Loaded query={query}>{(network) => <Known network={network} />}</Loaded>
}

function Known({ network }: { network: Network }) {
  const t = useNetworksText()
  const { name, ip_range, zone_slug, servers } = network
  const { nameOf } = useServers()
  const [detached, setDetached] = useState<string | null>(null)
  return (
    <Page
      title={name}
      crumbs={<Link to="/networks">{t.networks}</Link>}
      about={`${ip_range} · ${zone_slug}`}
      scope="servers:write"
      examples={examplesOf(network)}
    >
      <Card title={t.servers}>
        {servers.length === 0 ? (
          <p className="body muted">{t.noServers}</p>
        ) : (
          <Table
            label={t.servers}
            rows={servers}
            idOf={({ server_id }) => server_id}
            columns={[
              {
                title: t.name,
                cell: ({ server_id }) => <ServerName id={server_id} name={nameOf(server_id)} />,
              },
              { title: t.address, cell: ({ ipv4 }) => <Copy text={ipv4} /> },
              {
                title: '',
                isNumber: true,
                cell: ({ server_id }) => (
                  <Allowed scope="servers:write">
                    <Button kind="quiet" onClick={() => setDetached(server_id)}>
                      {t.detach}
                    </Button>
                  </Allowed>
                ),
              },
            ]}
          />
        )}
        <Allowed scope="servers:write">
          <div className="body">
            <AttachForm network={network} />
          </div>
        </Allowed>
      </Card>
      {detached ? (
        <Detach network={network} id={detached} name={nameOf(detached)} onClose={() => setDetached(null)} />
      ) : null}
    </Page>
  )
}

export const ServerName = ({ id, name }: { id: string; name: string }) => (
  <Link to="/servers/$serverId/network" params={{ serverId: id }} className="title">
    {name}
  </Link>
)

function AttachForm({ network: { network_id, zone_slug, servers: inside } }: { network: Network }) {
  const t = useNetworksText()
  const { servers } = useServers()
  const [id, setId] = useState('')
  const [ipv4, setIpv4] = useState('')
  const attach = useMutation({
    mutationFn: async () => {
      const operation = await berth.networks.attach(network_id, {
        server_id: id,
        ...(ipv4.trim() === '' ? {} : { ipv4: ipv4.trim() }),
      })
      await berth.operations.wait(operation)
    },
    onSuccess: () => {
      setId('')
      setIpv4('')
    },
    onSettled: refresh,
  })
  const others = servers.filter(
    (server) =>
      server.zone_slug === zone_slug && inside.every(({ server_id }) => server_id !== server.server_id),
  )
  if (others.length === 0) return <p className="muted">{t.noMore}</p>
  return (
    <Form submit={t.attachNow} mutation={attach} isReady={id !== ''} onSubmit={() => attach.mutate()}>
      <div className="pair">
        <SelectField label={t.attach} value={id} options={optionsOf(others, t.choose)} onChange={setId} />
        <TextField
          label={t.ownAddress}
          placeholder={t.firstFree}
          value={ipv4}
          onChange={(event) => setIpv4(event.target.value)}
        />
      </div>
      <p className="muted small">{t.addressBoot}</p>
    </Form>
  )
}

interface DetachProps {
  network: Network
  id: string
  name: string
  onClose: () => void
}

function Detach({ network: { network_id }, id, name, onClose }: DetachProps) {
  const t = useNetworksText()
  const detach = useMutation({
    mutationFn: async () => {
      await berth.operations.wait(await berth.networks.detach(network_id, id))
    },
    onSuccess: onClose,
    onSettled: refresh,
  })
  return (
    <Dialog title={t.detachTitle(name)} onClose={onClose}>
      <Form submit={t.detach} mutation={detach} onSubmit={() => detach.mutate()} onCancel={onClose}>
        <p>{t.detachAbout}</p>
      </Form>
    </Dialog>
  )
}

function examplesOf({ network_id, name }: Network): Example[] {
  return [
    {
      route: 'GET /networks/{network_id}',
      path: { network_id },
      berth: `berth network show ${quoted(name)}`,
      sdk: 'networks.get',
    },
    {
      route: 'POST /networks/{network_id}/servers',
      path: { network_id },
      body: { server_id: '…' },
      berth: `berth network attach ${quoted(name)} web-1`,
      sdk: 'networks.attach',
    },
  ]
}
