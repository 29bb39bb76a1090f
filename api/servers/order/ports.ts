import { addPort, publishSsh, publishSshAt, requirePortQuota } from '../../ports/ports.ts'
import type { Asked, OrderPart } from './part.ts'

/** The port for SSH, which every server has. */
export function sshPart({ options }: Asked): OrderPart {
  return {
    take: async (tx, { server, facts: { freePort } }) => ({
      ssh_port:
        freePort === null
          ? await publishSsh(tx, options.sshPorts, server)
          : await publishSshAt(tx, freePort, server),
    }),
  }
}

/** Ports to publish from the start. */
export function portsPart({ options, request }: Asked): OrderPart {
  const { published_ports: ports = [] } = request
  if (ports.length === 0) return {}
  return {
    check: (server) => options.capacity.require(server, 'published_ports'),
    take: async (tx, { server }) => {
      await requirePortQuota(tx, server.account_id, ports.length)
      return {}
    },
    add: async (tx, { server }) => {
      for (const port of ports) await addPort(tx, options, server, port)
    },
  }
}
