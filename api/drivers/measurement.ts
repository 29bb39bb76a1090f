/**
 * The raw resource usage of a machine. An unknown value is null, never 0. Counters start at 0 with each process of
 * the machine; a reset of the guest need not reset them.
 */
export interface Measurement {
  measuredAt: number
  /**
   * When the counting process started (milliseconds); null: the machine is off or does not answer, and only its
   * disk is known.
   */
  startedAt: number | null
  cores: number
  /** Counter: the running time of all virtual CPUs together. */
  cpuMs: number | null
  /** Reported by the guest: from outside, caches look like any other memory. */
  memoryUsedBytes: number | null
  /** Bytes that the disk takes on the host, without its image. */
  diskUsedBytes: number | null
  /** Counters, of the disk and of the network as the guest sees it. */
  diskReadBytes: number | null
  diskWriteBytes: number | null
  networkRxBytes: number | null
  networkTxBytes: number | null
  /** Missing or null: the driver does not count them. */
  counts?: NetworkCounts | null
  /** Missing or null: bytes between the last measurement and the end of a process are lost. */
  ended?: EndedTraffic | null
}

/** The bytes of a machine's earlier network cards, summed up since the driver was opened. */
export interface EndedTraffic {
  life: string
  rx: number
  tx: number
}

/** Counters of the network card since its machine was started. Null: the driver does not count it. */
export interface NetworkCounts {
  rxPackets: number | null
  txPackets: number | null
  /** Connections that the guest tried to open, beyond its limit too. */
  opened: number | null
  /** Tries of the guest to reach port 25 of others that were refused. */
  mailsRefused: number | null
}

/** The traffic of a machine's card in bytes, as counted outside of the guest. */
export interface Traffic {
  rx: number
  tx: number
  counts: NetworkCounts
  ended: EndedTraffic
}
