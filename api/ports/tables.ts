declare module '../database/schema.ts' {
  interface Schema {
    ports: PortTable
    ended_ports: EndedPortTable
  }
}

export interface PortTable {
  port_id: string
  account_id: string
  server_id: string
  protocol: 'tcp' | 'udp'
  port: number
  host_port: number
  /** 1 for the port that leads to SSH, which the service manages. */
  is_system: number
  created_at: number
  /** `pending` and `closing` ports open and close at the next start, if the ports of a running server are fixed. */
  status: 'active' | 'pending' | 'closing'
}

/** A host port that a server had, kept because operators may be asked about it later. */
export interface EndedPortTable
  extends Pick<PortTable, 'port_id' | 'account_id' | 'server_id' | 'protocol' | 'host_port' | 'created_at'> {
  ended_at: number
}
