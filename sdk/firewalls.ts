import type { FirewallCreate, FirewallRule, FirewallUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

/** The ranges of all addresses. */
export const ANYWHERE = ['0.0.0.0/0', '::/0']

const into = (
  protocol: FirewallRule['protocol'],
  ports: string | null,
  description: string,
): FirewallRule => ({ direction: 'in', protocol, ports, cidrs: ANYWHERE, description })

const ssh = into('tcp', '22', 'SSH')
const ping = into('icmp', null, 'Ping')

/** Initial rules for a new firewall. */
export const firewallTemplates = {
  ssh: [ssh, ping],
  web: [ssh, into('tcp', '80', 'HTTP'), into('tcp', '443', 'HTTPS'), into('udp', '443', 'HTTP/3'), ping],
}

export function firewalls(call: Call) {
  const list = (query: Query<'GET /firewalls'> = {}, options?: CallOptions) =>
    call('GET /firewalls', { query }, options)
  return {
    /** One page, newest first; `server_id` selects the ones of a server. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /firewalls'> = {}, options?: CallOptions) =>
      everyItem(list, 'firewall_id', query, options),
    get: (firewall_id: string, options?: CallOptions) =>
      call('GET /firewalls/{firewall_id}', { path: { firewall_id } }, options),
    create: (body: FirewallCreate, options?: CallOptions) => call('POST /firewalls', { body }, options),
    /** Changes the given fields; `rules` replaces all rules at once. */
    update: (firewall_id: string, body: FirewallUpdate, options?: CallOptions) =>
      call('PATCH /firewalls/{firewall_id}', { path: { firewall_id }, body }, options),
    delete: (firewall_id: string, options?: CallOptions) =>
      call('DELETE /firewalls/{firewall_id}', { path: { firewall_id } }, options),
    attach: (firewall_id: string, server_ids: string[], options?: CallOptions) =>
      call('POST /firewalls/{firewall_id}/servers', { path: { firewall_id }, body: { server_ids } }, options),
    detach: (firewall_id: string, server_id: string, options?: CallOptions) =>
      call(
        'DELETE /firewalls/{firewall_id}/servers/{server_id}',
        { path: { firewall_id, server_id } },
        options,
      ),
  }
}
