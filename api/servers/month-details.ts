import { monthCost, monthStart, wholeSecond } from '../billing/accrual.ts'
import { ratesSince } from '../billing/rates.ts'
import { includedBytes, trafficCharge } from '../billing/traffic.ts'
import { trafficView } from '../catalog/view.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { formatMoney } from '../money.ts'
import { serverTraffic } from '../monitoring/traffic.ts'
import type { ServerTable } from './tables.ts'

/** The traffic of a server in this calendar month, and the costs of the traffic and the time, in units. */
export async function monthDetails({ db, clock }: { db: Database; clock: Clock }, server: ServerTable) {
  const { server_id, traffic_gb, traffic_price, bandwidth_mbit } = server
  const now = wholeSecond(clock.now())
  const rates = (await ratesSince(db, [server_id], monthStart(now))).get(server_id) ?? []
  const { in_bytes, out_bytes } = await serverTraffic(db, server_id, now)
  const included_bytes = includedBytes(rates, {
    month: monthStart(now),
    until: now,
    isGone: server.status === 'deleting',
  })
  const used = { sent: out_bytes, included: included_bytes, charged: 0 }
  const excess = trafficCharge(used, traffic_price)?.amount ?? 0
  const terms = trafficView({ includedGb: traffic_gb, priceTb: traffic_price, bandwidthMbit: bandwidth_mbit })
  return {
    monthToDate: monthCost(rates, now) + excess,
    view: { ...terms, in_bytes, out_bytes, included_bytes, excess_rub: formatMoney(excess) },
  }
}
