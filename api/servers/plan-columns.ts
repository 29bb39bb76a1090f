import type { Plan } from '../catalog/plans.ts'
import type { ServerTable } from './tables.ts'

/** The data of a resize that an earlier version began lacks the traffic. */
type Ordered = Omit<Plan, 'items' | 'traffic'> & Partial<Pick<Plan, 'traffic'>>

/** The columns of a server's row that hold its plan, at the prices of the order. */
export function planColumns({ planType, presetId, size, priceMonth, priceHour, traffic }: Ordered) {
  return {
    plan_type: planType,
    preset_id: presetId,
    ...size,
    price_month: priceMonth,
    price_hour: priceHour,
    traffic_gb: traffic?.includedGb ?? 0,
    traffic_price: traffic?.priceTb ?? 0,
    bandwidth_mbit: traffic?.bandwidthMbit ?? null,
  } satisfies Partial<ServerTable>
}
