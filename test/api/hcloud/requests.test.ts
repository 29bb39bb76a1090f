import { expect, test } from 'vitest'
import { routes } from '../../../api/hcloud/mount.ts'

/**
 * The fields of the requests of hcloud-go 2.47.0, which are the schema of Berth's requests, by method and path. A field
 * that Berth refuses is one that the route must know to say so.
 */
const fields: Readonly<Record<string, string>> = {
  'POST /servers':
    'name server_type image ssh_keys location user_data start_after_create labels automount volumes networks firewalls placement_group public_net',
  'PUT /servers/:id': 'name labels',
  'POST /servers/:id/actions/create_image': 'type description labels',
  'POST /servers/:id/actions/enable_rescue': 'type ssh_keys',
  'POST /servers/:id/actions/attach_iso': 'iso',
  'POST /servers/:id/actions/rebuild': 'image user_data',
  'POST /servers/:id/actions/change_type': 'server_type upgrade_disk',
  'POST /servers/:id/actions/change_dns_ptr': 'ip dns_ptr',
  'POST /servers/:id/actions/change_protection': 'rebuild delete',
  'POST /servers/:id/actions/attach_to_network': 'network ip alias_ips ip_range',
  'POST /servers/:id/actions/detach_from_network': 'network',
  'PUT /images/:id': 'description type labels',
  'POST /images/:id/actions/change_protection': 'delete',
  'POST /primary_ips': 'name type assignee_type assignee_id labels auto_delete location',
  'PUT /primary_ips/:id': 'name labels auto_delete',
  'POST /primary_ips/:id/actions/change_dns_ptr': 'ip dns_ptr',
  'POST /primary_ips/:id/actions/assign': 'assignee_id assignee_type',
  'POST /primary_ips/:id/actions/change_protection': 'delete',
  'POST /floating_ips': 'type home_location server description labels name',
  'PUT /floating_ips/:id': 'description labels name',
  'POST /floating_ips/:id/actions/assign': 'server',
  'POST /floating_ips/:id/actions/change_dns_ptr': 'ip dns_ptr',
  'POST /floating_ips/:id/actions/change_protection': 'delete',
  'POST /networks': 'name ip_range subnets routes labels expose_routes_to_vswitch',
  'PUT /networks/:id': 'name labels expose_routes_to_vswitch',
  'POST /networks/:id/actions/add_subnet': 'type ip_range network_zone vswitch_id',
  'POST /networks/:id/actions/delete_subnet': 'ip_range',
  'POST /networks/:id/actions/change_protection': 'delete',
  'POST /volumes': 'name size server location labels automount format',
  'PUT /volumes/:id': 'name labels',
  'POST /volumes/:id/actions/attach': 'server automount',
  'POST /volumes/:id/actions/resize': 'size',
  'POST /volumes/:id/actions/change_protection': 'delete',
  'POST /firewalls': 'name labels rules apply_to',
  'PUT /firewalls/:id': 'name labels',
  'POST /firewalls/:id/actions/set_rules': 'rules',
  'POST /firewalls/:id/actions/apply_to_resources': 'apply_to',
  'POST /firewalls/:id/actions/remove_from_resources': 'remove_from',
  'POST /ssh_keys': 'name public_key labels',
  'PUT /ssh_keys/:id': 'name labels',
}

/** Requests without a body, or with one that is refused whatever it says. */
const empty = [
  ...['poweron', 'poweroff', 'reboot', 'reset', 'shutdown', 'reset_password', 'disable_rescue'],
  ...['enable_backup', 'disable_backup', 'detach_iso', 'request_console', 'change_alias_ips'],
  ...['add_to_placement_group', 'remove_from_placement_group'],
].map((name) => `POST /servers/:id/actions/${name}`)
const others = ['floating_ips/:id/actions/unassign', 'primary_ips/:id/actions/unassign']
const more = [
  'volumes/:id/actions/detach',
  ...['add_route', 'delete_route', 'change_ip_range'].map(onNetwork),
]
const known = [...Object.keys(fields), ...empty, ...[...others, ...more].map((path) => `POST /${path}`)]

function onNetwork(name: string): string {
  return `networks/:id/actions/${name}`
}

const changes = routes.filter(({ method }) => method === 'POST' || method === 'PUT')

test.each(Object.entries(fields))('%s takes the fields that clients send', (name, text) => {
  const route = changes.find(({ method, path }) => `${method} ${path}` === name)
  expect(Object.keys(route?.body?.properties ?? {})).toEqual(expect.arrayContaining(text.split(' ')))
})

test('every request of clients that changes something has a route, and every such route is one of theirs', () => {
  expect(changes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(known.sort())
})

/** The resources that clients list and read one of, and those that they delete. */
const owned = ['servers', 'images', 'volumes', 'networks', 'firewalls', 'floating_ips', 'primary_ips']
const offered = ['locations', 'datacenters', 'server_types', 'isos']
const deleted = [...owned, 'ssh_keys'].map((many) => `DELETE /${many}/:id`)
const read = [...owned, ...offered, 'ssh_keys', 'actions'].flatMap((many) => [
  `GET /${many}`,
  `GET /${many}/:id`,
])
/** A client reads actions through the resource that they are on. */
const actions = owned.flatMap((many) =>
  ['actions', ':id/actions', 'actions/:action_id', ':id/actions/:action_id'].map(
    (path) => `GET /${many}/${path}`,
  ),
)

test('every request of clients that reads or deletes has a route, and every such route is one of theirs', () => {
  const others = routes.filter((route) => !changes.includes(route))
  const all = [...deleted, ...read, ...actions, 'GET /servers/:id/metrics', 'GET /pricing']
  expect(others.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(all.sort())
})
