import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { type Formats, useFormats } from '../../format.ts'
import { usePreferences } from '../../preferences.ts'
import { type Series, written } from './series.ts'
import 'uplot/dist/uPlot.min.css'

const HEIGHT = 190
const colors = ['--accent', '--warn']
/** Bytes are counted by the powers of two. */
const binary = Array.from({ length: 42 }, (_, power) => 2 ** power)

interface ChartProps {
  label: string
  series: readonly Series[]
  titles: readonly string[]
  /** The time span in seconds, the same for all charts. */
  from: number
  to: number
  onZoom: (from: number, to: number) => void
}

/** One chart; the crosshairs of all charts move together. */
export function Chart({ label, series, titles, from, to, onZoom }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const zoom = useRef(onZoom)
  zoom.current = onZoom
  const format = useFormats()
  const { theme } = usePreferences()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart is drawn anew in the colours of another theme
  useEffect(() => {
    const { current } = place
    if (!current) return
    const times = series[0]?.points.map(([at]) => at) ?? []
    const data: uPlot.AlignedData = [times, ...series.map(({ points }) => points.map(([, value]) => value))]
    const options = optionsOf({ series, titles, from, to, format, width: current.clientWidth })
    const plot = new uPlot(options, data, current)
    plot.hooks.setSelect = [
      ({ select, posToVal }) => {
        if (select.width > 4)
          zoom.current(posToVal(select.left, 'x'), posToVal(select.left + select.width, 'x'))
      },
    ]
    const observer = new ResizeObserver(() => plot.setSize({ width: current.clientWidth, height: HEIGHT }))
    observer.observe(current)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [series, titles, from, to, format, theme])
  return <div ref={place} className="chart" role="img" aria-label={label} />
}

interface Drawing {
  series: readonly Series[]
  titles: readonly string[]
  from: number
  to: number
  format: Formats
  width: number
}

function optionsOf({ series, titles, from, to, format, width }: Drawing): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  // Colours that depend on the theme are worked out where they are used: by an element.
  const probe = document.body.appendChild(document.createElement('i'))
  const colorOf = (name: string) => {
    probe.style.color = `var(${name})`
    return getComputedStyle(probe).color
  }
  const [muted, line] = [colorOf('--muted'), colorOf('--line')]
  const [unit = 'percent'] = series.map((entry) => entry.unit)
  const font = `11px ${style.fontFamily}`
  const axis = { stroke: muted, font, grid: { stroke: line, width: 1 }, ticks: { show: false } }
  const most = unit === 'percent' ? 100 : null
  const options: uPlot.Options = {
    width,
    height: HEIGHT,
    cursor: { sync: { key: 'metrics' }, drag: { x: true, y: false, setScale: false } },
    scales: {
      x: { min: from, max: to },
      y: { range: (_plot, _least, largest) => [0, most ?? Math.max(1, (largest ?? 0) * 1.1)] },
    },
    axes: [
      { ...axis, values: (_plot, times) => times.map((at) => timeOf(format, at, to - from)) },
      {
        ...axis,
        size: 74,
        ...(unit === 'percent' ? {} : { incrs: binary }),
        values: (_plot, values) => values.map((value) => written(format, unit, value)),
      },
    ],
    series: [
      { label: '', value: (_plot, at) => (at === null ? '' : format.exact(at * 1000)) },
      ...series.map((entry, at) => ({
        label: titles[at] ?? entry.name,
        stroke: colorOf(colors[at] ?? '--accent'),
        width: 1.5,
        spanGaps: false,
        points: { show: false },
        value: (_plot: uPlot, value: number | null) => written(format, entry.unit, value),
      })),
    ],
  }
  probe.remove()
  return options
}

function timeOf({ locale }: Formats, at: number, seconds: number): string {
  const isLong = seconds > 2 * 86_400
  return new Date(at * 1000).toLocaleString(
    locale,
    isLong ? { day: 'numeric', month: 'short' } : { hour: '2-digit', minute: '2-digit' },
  )
}
