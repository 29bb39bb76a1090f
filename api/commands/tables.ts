declare module '../database/schema.ts' {
  interface Schema {
    installation: InstallationTable
    simulated_machines: SimulatedMachineTable
  }
}

/** What holds for the installation as a whole, by name. */
export interface InstallationTable {
  name: string
  value: string
}

/** A machine of the simulator, where several processes share it. */
export interface SimulatedMachineTable {
  server_id: string
  /** JSON: Machine of drivers/simulator.ts. */
  machine: string
}
