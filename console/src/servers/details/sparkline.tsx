const WIDTH = 200
const HEIGHT = 40

interface SparklineProps {
  points: readonly (readonly [at: number, value: number | null])[]
  /** The value at the top (default: the largest value). */
  most: number | null
}

/** A line without axes, with gaps where nothing was measured. */
export function Sparkline({ points, most }: SparklineProps) {
  const values = points.map(([, value]) => value)
  const top = most ?? Math.max(1, ...values.map((value) => value ?? 0))
  const step = WIDTH / Math.max(1, points.length - 1)
  const y = (value: number) => HEIGHT - 1 - Math.min(1, value / top) * (HEIGHT - 3)
  let isDown = false
  const path = values
    .map((value, at) => {
      const command = isDown ? 'L' : 'M'
      isDown = value !== null
      return value === null ? '' : `${command}${(at * step).toFixed(1)} ${y(value).toFixed(1)}`
    })
    .join('')
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} className="ground" />
      <path d={path} />
    </svg>
  )
}
