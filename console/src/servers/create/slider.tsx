import { useId } from 'react'

interface SliderProps {
  label: string
  value: number
  range: { min: number; max: number; step: number }
  /** The scale is logarithmic, for very large ranges. */
  isDoubling?: boolean
  format?: (value: number) => string
  onChange: (value: number) => void
}

const POSITIONS = 200

/** A slider, and a field for the exact number. */
export function Slider({ label, value, range, isDoubling = false, format = String, onChange }: SliderProps) {
  const id = useId()
  const { min, max, step } = range
  const ratio = Math.log(max / min)
  const fit = (raw: number) => {
    const stepped = Math.round(raw / step) * step
    return Math.min(max, Math.max(stepped, min))
  }
  const position = isDoubling ? Math.round((Math.log(Math.max(min, value) / min) / ratio) * POSITIONS) : value
  const move = (to: number) => onChange(fit(isDoubling ? min * Math.exp((ratio * to) / POSITIONS) : to))
  return (
    <div className="slider">
      <label htmlFor={id}>{label}</label>
      <input
        type="range"
        aria-label={label}
        aria-valuetext={format(value)}
        min={isDoubling ? 0 : min}
        max={isDoubling ? POSITIONS : max}
        step={isDoubling ? 1 : step}
        value={position}
        onChange={(event) => move(event.target.valueAsNumber)}
      />
      <input
        id={id}
        key={value}
        type="number"
        className="input"
        min={min}
        max={max}
        step={step}
        defaultValue={value}
        onBlur={(event) => onChange(fit(event.target.valueAsNumber || min))}
      />
      <output className="muted">{format(value)}</output>
    </div>
  )
}
