declare module '../database/schema.ts' {
  interface Schema {
    ports: PortTable
  }
}

export interface PortTable {
  port_id: string
  account_id: string
  server_id: string
  protocol: 'tcp' | 'udp'
  port: number
  host_port: number
  /** 1 for the one that leads to SSH, which is the service's. */
  is_system: number
  created_at: number
  /** Where ports of a server that runs are fixed, those to open, and to close, at its next start. */
  status: 'active' | 'pending' | 'closing'
}
