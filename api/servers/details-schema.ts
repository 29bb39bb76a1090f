import Type, { type Static } from 'typebox'
import { Project, SshKeyId } from '../accounts/schema.ts'
import { Preset, Template, traffic, Zone } from '../catalog/schema.ts'
import { HourPrice, MonthPrice, money, nullable, timestamp } from '../http/contract/fields.ts'
import { figures } from '../monitoring/schema.ts'
import { NetworkId, PrivateIpv4 } from '../networks/schema.ts'
import { PublishedPort } from '../ports/schema.ts'
import { Server } from './schema.ts'
import { actions } from './states.ts'

const address = (version: string) =>
  nullable(
    Type.Object({
      address: Type.String({ description: 'The address' }),
      prefix_length: Type.Integer({ description: 'Length of its network prefix in bits' }),
      gateway: Type.String({ description: 'Default gateway' }),
    }),
    {
      description: `${version} address of its network card, which may be private; null if unknown or none`,
      examples: [null],
    },
  )

const fingerprint = (description: string, example: string) =>
  Type.String({ description, examples: [example] })
const SshAccess = Type.Object(
  {
    ...Server.properties.ssh.properties,
    command: nullable(Type.String({ examples: ['ssh -p 22424 debian@127.0.0.1'] }), {
      description: 'Shell command that logs in; null if there is no port',
    }),
    auth_methods: Type.Array(Type.Enum(['public_key', 'password']), {
      description: 'How to log in: with one of its keys, or with the password if it was created without',
    }),
    keys: Type.Array(
      Type.Object({
        ssh_key_id: SshKeyId,
        name: Type.String({ description: 'Name of the key', examples: ['laptop'] }),
        fingerprint: fingerprint('Its fingerprint', 'SHA256:BG2L77QnDhh1ECY49/Cdlc8DfQd+VK7WLhpBisLHfiQ'),
      }),
      { description: 'Keys that it was created with' },
    ),
    host_key_fingerprints: Type.Array(
      Type.Object({
        type: Type.String({ description: 'Type of the key', examples: ['ssh-ed25519'] }),
        fingerprint: fingerprint('As `ssh` shows it', 'SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA'),
        public_key: Type.String({
          description: 'The key as in a known_hosts file',
          examples: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f'],
        }),
      }),
      { description: 'Host keys of the server, to verify it by; empty until it has first started' },
    ),
    is_ready: Type.Boolean({ description: 'Whether a login can succeed now' }),
    password: nullable(Type.String(), {
      description:
        'Generated password; null if it was created with keys and none was set since, or if the token lacks `servers:write`. With keys, only the console accepts it, unless the settings of its SSH allow passwords',
      examples: [null],
    }),
  },
  { description: 'How to log in' },
)

export const ServerDetails = Type.Object(
  {
    ...Server.properties,
    project: Project,
    zone: nullable(Zone, { description: 'Its zone; null if it is no longer in the catalogue' }),
    template: nullable(Template, { description: 'Its template; null if it is no longer in the catalogue' }),
    preset: nullable(Preset, {
      description:
        'Its preset at the price for servers ordered now; null for a custom plan, or if it is no longer in the catalogue',
    }),
    network: Type.Object(
      {
        hostname: Type.String({ description: 'Host name', examples: ['web-1'] }),
        mac: Type.String({ description: 'MAC address of its network card', examples: ['52:54:00:ba:47:7a'] }),
        ipv4: address('IPv4'),
        ipv6: address('IPv6'),
        resolvers: Type.Array(Type.String({ examples: ['10.64.0.1'] }), {
          description: 'Name servers that it is configured with',
        }),
        private: Type.Array(
          Type.Object({
            network_id: NetworkId,
            name: Type.String({ description: 'Name of the network', examples: ['backend'] }),
            ip_range: Type.String({ description: 'Range of the network', examples: ['10.1.0.0/24'] }),
            mac: Type.String({ description: 'MAC address of the card', examples: ['52:54:1f:0c:47:7a'] }),
            ipv4: PrivateIpv4,
            prefix_length: Type.Integer({ description: 'Length of the prefix of the range', examples: [24] }),
            command: Type.String({
              description:
                'Shell command that configures the address of the card in a running guest; at the next boot, cloud-init does this',
              examples: ["sudo sh -c '…'"],
            }),
          }),
          { description: 'Its cards in private networks', examples: [[]] },
        ),
        published_ports: Type.Array(PublishedPort, {
          description: 'Ports that lead to it: newest first, the one for SSH last',
        }),
      },
      { description: 'Its network card' },
    ),
    user_data_sha256: nullable(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        examples: ['5c3a77f4a5f9ed3ca5bd5ac2db1fda6b4e6a0d1d1cb3e0a5e6ac3d4b1e1f0a2b'],
      }),
      {
        description:
          'SHA-256 of the `user_data` that it was created with, in hexadecimal; null if there was none',
      },
    ),
    ssh: SshAccess,
    billing: Type.Object(
      {
        price_hour_rub: HourPrice,
        price_month_rub: MonthPrice,
        billed_since: nullable(timestamp('When billing began', '2026-11-20T12:00:03.000Z'), {
          description: 'When billing began; null if it is not billed yet',
        }),
        month_to_date_rub: money('Cost in this calendar month (UTC) up to now', '0.00'),
        is_billed_when_stopped: Type.Boolean({
          description: 'Whether it costs the same while it is stopped',
        }),
      },
      { description: 'What it costs' },
    ),
    traffic: Type.Object(
      {
        ...traffic,
        in_bytes: Type.Integer({ description: 'Bytes that it received', examples: [48_318_382_080] }),
        out_bytes: Type.Integer({ description: 'Bytes that it sent', examples: [214_748_364_800] }),
        included_bytes: Type.Integer({
          description:
            'Bytes that its price includes: `traffic_gb`, less the share of the month before it was created or while it was suspended',
          examples: [1_000_000_000_000],
        }),
        excess_rub: money('Cost of the bytes sent beyond that so far, in rubles', '0.00'),
      },
      { description: 'Its traffic in this calendar month (UTC), as the price includes it' },
    ),
    allowed_actions: Type.Array(Type.Enum([...actions]), {
      description:
        'Actions that its status allows now; `update` changes the name and similar fields, `resize` the plan, `grow_disk` only `disk_gb`',
      examples: [['stop', 'reboot', 'console', 'update', 'rebuild', 'reset_password', 'delete']],
    }),
  },
  {
    title: 'ServerDetails',
    description: 'A server with the objects that it refers to, its login and its costs',
  },
)
export type ServerDetails = Static<typeof ServerDetails>

export const ServerStats = Type.Object(
  {
    server_id: Server.properties.server_id,
    status: Server.properties.status,
    uptime_seconds: nullable(Type.Integer({ minimum: 0, examples: [86_400] }), {
      description: 'Seconds since it was started; null while it is off',
    }),
    ...figures,
  },
  { title: 'ServerStats', description: 'The resource usage of a server at one moment' },
)
export type ServerStats = Static<typeof ServerStats>
