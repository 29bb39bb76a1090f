import type { PublishedPort, ServerDetails } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { berth } from '../../client.ts'
import { UNKNOWN } from '../../format.ts'
import { firewallsOfQuery } from '../../network-queries.ts'
import { Button } from '../../ui/button.tsx'
import { Command, Copy } from '../../ui/copy.tsx'
import { Segments, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Allowed } from '../../ui/guarded.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { Failed, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { refreshServers } from '../actions.ts'
import { useDetailsText } from './text.ts'
import { useServer } from './use-server.ts'

export function NetworkTab() {
  const t = useDetailsText()
  const server = useServer()
  const { network } = server
  const address = (text: string | null | undefined) => (text ? <Copy text={text} /> : UNKNOWN)
  return (
    <div className="stack">
      <Card title={t.addresses}>
        <div className="body">
          <Facts
            facts={[
              [t.ipv4, address(server.ipv4)],
              [t.ipv6, address(server.ipv6)],
              [t.card, address(network.ipv4?.address)],
              [t.gateway, address(network.ipv4?.gateway)],
              [t.resolvers, network.resolvers.join(', ') || UNKNOWN],
              ['MAC', <Copy key="mac" text={network.mac} />],
            ]}
          />
        </div>
      </Card>
      <Ports server={server} />
      {server.zone?.features.includes('private_networks') ? <Networks server={server} /> : null}
      {server.zone?.features.includes('firewalls') ? <Firewalls server={server} /> : null}
    </div>
  )
}

function Networks({ server: { status, network } }: { server: ServerDetails }) {
  const t = useDetailsText()
  const cards = network.private
  return (
    <Card title={t.privateNetworks} actions={<Link to="/networks">{t.manage}</Link>}>
      {cards.length === 0 ? (
        <p className="body muted">{t.noNetworks}</p>
      ) : (
        <Table
          label={t.privateNetworks}
          rows={cards}
          idOf={({ network_id }) => network_id}
          columns={[
            {
              title: t.name,
              cell: ({ network_id, name }) => (
                <Link to="/networks/$networkId" params={{ networkId: network_id }} className="title">
                  {name}
                </Link>
              ),
            },
            { title: t.range, cell: ({ ip_range }) => <span className="mono">{ip_range}</span> },
            { title: t.address, cell: ({ ipv4 }) => <Copy text={ipv4} /> },
          ]}
        />
      )}
      {status === 'running' && cards.length > 0 ? (
        <details className="body">
          <summary>{t.addressNow}</summary>
          <div className="stack">
            <p className="muted small">{t.addressNowAbout}</p>
            {cards.map(({ network_id, command }) => (
              <Command key={network_id} text={command} />
            ))}
          </div>
        </details>
      ) : null}
    </Card>
  )
}

/** The firewalls that the server has by its id or by its labels. */
function Firewalls({ server: { server_id } }: { server: ServerDetails }) {
  const t = useDetailsText()
  const query = useQuery(firewallsOfQuery(server_id))
  return (
    <Card title={t.firewalls} actions={<Link to="/firewalls">{t.manage}</Link>}>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="body muted">{t.noFirewalls}</p>
          ) : (
            <Table
              label={t.firewalls}
              rows={items}
              idOf={({ firewall_id }) => firewall_id}
              columns={[
                {
                  title: t.name,
                  cell: ({ firewall_id, name }) => (
                    <Link to="/firewalls/$firewallId" params={{ firewallId: firewall_id }} className="title">
                      {name}
                    </Link>
                  ),
                },
                { title: t.rules, isNumber: true, cell: ({ rules }) => rules.length },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  )
}

function Ports({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const { published_ports: ports } = server.network
  const unpublish = useMutation({
    mutationFn: (port: PublishedPort) => berth.ports.unpublish(server.server_id, port.port_id),
    onSettled: refreshServers,
  })
  return (
    <Card title={t.ports}>
      <Table
        label={t.ports}
        rows={ports}
        idOf={({ port_id }) => port_id}
        columns={[
          { title: t.port, cell: ({ port, protocol }) => `${port}/${protocol}` },
          {
            title: t.reachedAt,
            cell: ({ host, host_port, status }) => (
              <>
                <Copy text={`${host}:${host_port}`} />
                {status === 'active' ? null : <div className="muted">{t.portWaits[status]}</div>}
              </>
            ),
          },
          {
            title: '',
            isNumber: true,
            cell: (port) =>
              port.is_system ? (
                <span className="muted">SSH</span>
              ) : port.status === 'closing' ? null : (
                <Allowed scope="servers:write">
                  <Button kind="quiet" isBusy={unpublish.isPending} onClick={() => unpublish.mutate(port)}>
                    {t.unpublish}
                  </Button>
                </Allowed>
              ),
          },
        ]}
      />
      {server.zone?.features.includes('published_ports') ? (
        <Allowed scope="servers:write">
          <div className="body stack">
            {unpublish.error ? <Failed error={unpublish.error} /> : null}
            <PublishForm server={server} />
          </div>
        </Allowed>
      ) : null}
    </Card>
  )
}

const protocols = [
  { value: 'tcp', title: 'TCP' },
  { value: 'udp', title: 'UDP' },
] as const

function PublishForm({ server: { server_id } }: { server: ServerDetails }) {
  const t = useDetailsText()
  const [port, setPort] = useState('')
  const [protocol, setProtocol] = useState<PublishedPort['protocol']>('tcp')
  const publish = useMutation({
    mutationFn: () => berth.ports.publish(server_id, { protocol, port: Number(port) }),
    onSuccess: async () => {
      setPort('')
      await refreshServers()
    },
  })
  const isPort = /^\d{1,5}$/.test(port)
  return (
    <Form submit={t.publish} mutation={publish} isReady={isPort} onSubmit={() => publish.mutate()}>
      <div className="row" style={{ alignItems: 'end' }}>
        <TextField
          label={t.portToPublish}
          inputMode="numeric"
          placeholder="80"
          value={port}
          onChange={(event) => setPort(event.target.value.trim())}
        />
        <Segments label={t.protocol} value={protocol} options={protocols} onChange={setProtocol} />
      </div>
    </Form>
  )
}
