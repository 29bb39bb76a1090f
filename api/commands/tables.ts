declare module '../database/schema.ts' {
  interface Schema {
    installation: InstallationTable
    simulated_machines: SimulatedMachineTable
  }
}

/** A fact about the installation as a whole, by name. */
export interface InstallationTable {
  name: string
  value: string
}

/** A machine of a driver whose machines several processes share, such as the simulator's. */
export interface SimulatedMachineTable {
  server_id: string
  /** JSON, as the driver writes it. */
  machine: string
}
