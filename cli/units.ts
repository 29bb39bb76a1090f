/** Human-readable figures. */

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']
const TIMES = [
  { unit: 'd', seconds: 86_400 },
  { unit: 'h', seconds: 3_600 },
  { unit: 'min', seconds: 60 },
  { unit: 's', seconds: 1 },
]

const rounded = (value: number) => String(Number(value.toFixed(1)))

export const percent = (value: number) => `${rounded(value)}%`

/** 1536 is `1.5 KiB`. */
export function bytes(value: number): string {
  let [size, unit] = [value, 0]
  // A value that would round up to 1024 is 1 of the next unit.
  for (; size >= 1023.95 && unit < SIZES.length - 1; unit += 1) size /= 1024
  return `${rounded(size)} ${SIZES[unit]}`
}

export const bytesPerSecond = (value: number) => `${bytes(value)}/s`

/** A price with its currency. */
export const rub = (amount: string) => `${amount} RUB`

/**
 * The time at which the balance is used up: `until 2029-09`, the day within a year, or the hours left within three
 * days.
 */
export function untilIn(hours: number, now: Date): string {
  if (hours < 72) return `for ${duration(hours * 3600)}`
  const end = new Date(now.getTime() + hours * 3_600_000).toISOString()
  return `until ${end.slice(0, hours < 365 * 24 ? 'YYYY-MM-DD'.length : 'YYYY-MM'.length)}`
}

/** The size of a server: `1 CPU, 512 MB of memory, 10 GB of disk`. */
export const sizeOf = ({ cpu, ram_mb, disk_gb }: { cpu: number; ram_mb: number; disk_gb: number }) =>
  `${cpu} CPU, ${ram_mb} MB of memory, ${disk_gb} GB of disk`

interface Traffic {
  traffic_gb: number
  traffic_tb_rub: string
  bandwidth_mbit: number | null
}

/** The monthly traffic that a price includes: `1000 GB`, or `unlimited`. */
export const includedOf = ({ traffic_gb, traffic_tb_rub }: Traffic) =>
  Number(traffic_tb_rub) === 0 ? 'unlimited' : `${traffic_gb} GB`

/** Lines of a card on the network of a plan. */
export const trafficParts = {
  'Traffic per month': (plan: Traffic) => includedOf(plan),
  'TB of further traffic': ({ traffic_tb_rub }: Traffic) => rub(traffic_tb_rub),
  'Mbit/s': ({ bandwidth_mbit }: Traffic) => bandwidth_mbit ?? 'unlimited',
}

/** A duration in its largest unit and the next: `3 d 4 h`. */
export function duration(seconds: number): string {
  const first = TIMES.findIndex((time) => seconds >= time.seconds)
  const [large, small] = TIMES.slice(first)
  if (first === -1 || !large) return '0 s'
  const rest = small ? Math.floor((seconds % large.seconds) / small.seconds) : 0
  const whole = `${Math.floor(seconds / large.seconds)} ${large.unit}`
  return small && rest > 0 ? `${whole} ${rest} ${small.unit}` : whole
}

/** Unknown values stay null rather than become 0. */
export const ifKnown = <Text>(value: number | null, text: (value: number) => Text) =>
  value === null ? null : text(value)

/** The reason of a server's status, with the operator's words if they suspended it. */
export const reasonOf = ({
  status_reason,
  suspension_reason,
}: {
  status_reason: string | null
  suspension_reason: string | null
}) => [status_reason, suspension_reason].filter((part) => part !== null).join(': ')
