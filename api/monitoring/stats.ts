import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Measurement } from '../drivers/measurement.ts'
import { soon } from '../drivers/soon.ts'
import { isoTime } from '../http/contract/fields.ts'
import { nextReading, type Reading, SHORTEST_MS, type Usage, usageSince } from './reading.ts'
import type { Figures } from './schema.ts'
import { findMeter, latestSample, saveReading } from './store.ts'
import type { MeterTable, SampleTable } from './tables.ts'
import { tiers } from './tiers.ts'

const MIB = 2 ** 20
const GIB = 2 ** 30
/** Rates over a longer time than this are not current. */
const LONGEST_MS = 180_000

interface StatsOptions {
  db: Database
  clock: Clock
  drivers: Drivers
}

/** Returns a server's current usage: measured now, with rates since the last sample. */
export async function serverFigures(
  { db, clock, drivers }: StatsOptions,
  {
    server_id,
    pool,
    cpu,
    ram_mb,
    disk_gb,
  }: { server_id: string; pool: string; cpu: number; ram_mb: number; disk_gb: number },
): Promise<Figures> {
  const meter = await findMeter(db, server_id)
  const measured = (await soon(clock, drivers.at(pool).measure([server_id])))?.get(server_id)
  const previous: Reading | null = JSON.parse(meter?.reading ?? 'null')
  const next = measured ? nextReading(previous, measured) : null
  const totals = next?.totals ?? previous?.totals
  const usage = measured ? await usageNow(db, meter, previous, measured) : null
  // The totals are saved, so that they never decrease if the machine turns off before the next sample.
  if (meter && previous && next?.startedAt === previous.startedAt)
    await saveReading(db, meter, JSON.stringify({ ...previous, totals: next.totals }))
  return {
    collected_at: isoTime(measured?.measuredAt ?? clock.now()),
    cpu: { cores: cpu, usage_percent: rounded(usage?.cpu) },
    memory: { total_mb: ram_mb, used_mb: rounded(measured?.memoryUsedBytes, MIB) },
    disk: {
      total_gb: disk_gb,
      used_gb: rounded(measured?.diskUsedBytes, GIB),
      read_bytes_total: totals?.diskReadBytes ?? null,
      write_bytes_total: totals?.diskWriteBytes ?? null,
      read_bytes_per_second: rounded(usage?.diskRead),
      write_bytes_per_second: rounded(usage?.diskWrite),
    },
    network: {
      rx_bytes_total: totals?.networkRxBytes ?? null,
      tx_bytes_total: totals?.networkTxBytes ?? null,
      rx_bytes_per_second: rounded(usage?.networkRx),
      tx_bytes_per_second: rounded(usage?.networkTx),
    },
  }
}

/** The rates since the last sample, or that sample's own rates if it is very recent. */
async function usageNow(
  db: Database,
  meter: MeterTable | undefined,
  previous: Reading | null,
  measured: Measurement,
): Promise<Usage> {
  const isFresh = previous !== null && measured.measuredAt - previous.at < SHORTEST_MS
  if (!meter || !isFresh || previous.startedAt !== measured.startedAt)
    return usageSince(previous, measured, LONGEST_MS)
  const sample = await latestSample(db, meter.series, tiers[0].resolution)
  return usageOf(sample)
}

function usageOf(sample: SampleTable | undefined): Usage {
  return {
    cpu: typeof sample?.cpu === 'number' ? sample.cpu / 100 : null,
    diskRead: sample?.disk_read ?? null,
    diskWrite: sample?.disk_write ?? null,
    networkRx: sample?.network_rx ?? null,
    networkTx: sample?.network_tx ?? null,
  }
}

/** Converts a value to another unit, rounded to hundredths. */
function rounded(value: number | null | undefined, unit = 1): number | null {
  return typeof value === 'number' ? Math.round((value / unit) * 100) / 100 : null
}
