import { type ComponentProps, type ReactNode, useId } from 'react'

interface Labels {
  label: string
  hint?: ReactNode
  error?: string | null | undefined
}

/** A label, its control, and below it the help text and the error. */
function Labeled({
  label,
  hint,
  error,
  children,
}: Labels & {
  children: (wiring: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }) => ReactNode
}) {
  const id = useId()
  const about = error ? `${id}-error` : hint ? `${id}-hint` : undefined
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        ...(about ? { 'aria-describedby': about } : {}),
        ...(error ? { 'aria-invalid': true } : {}),
      })}
      {error ? (
        <span className="error" id={`${id}-error`}>
          {error}
        </span>
      ) : hint ? (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      ) : null}
    </div>
  )
}

/** @param autoFocus in a dialog, too, which is not open yet when its fields are made */
export function TextField({
  label,
  hint,
  error,
  autoFocus = false,
  ...rest
}: Labels & ComponentProps<'input'>) {
  return (
    <Labeled label={label} hint={hint} error={error}>
      {(wiring) => (
        <input
          className="input"
          autoComplete="off"
          {...(autoFocus ? { autoFocus, 'data-autofocus': true } : {})}
          {...wiring}
          {...rest}
        />
      )}
    </Labeled>
  )
}

export function TextArea({ label, hint, error, ...rest }: Labels & ComponentProps<'textarea'>) {
  return (
    <Labeled label={label} hint={hint} error={error}>
      {(wiring) => <textarea className="input" rows={3} spellCheck={false} {...wiring} {...rest} />}
    </Labeled>
  )
}

interface Option<Value extends string> {
  value: Value
  title: string
}

interface SelectProps<Value extends string> extends Labels {
  value: Value
  options: readonly Option<Value>[]
  onChange: (value: Value) => void
}

export function SelectField<Value extends string>({
  label,
  hint,
  error,
  value,
  options,
  onChange,
}: SelectProps<Value>) {
  return (
    <Labeled label={label} hint={hint} error={error}>
      {(wiring) => <Select {...wiring} value={value} options={options} onChange={onChange} />}
    </Labeled>
  )
}

type BareSelect<Value extends string> = Omit<SelectProps<Value>, keyof Labels> &
  Pick<ComponentProps<'select'>, 'id' | 'aria-label' | 'aria-describedby' | 'aria-invalid'>

export function Select<Value extends string>({ value, options, onChange, ...rest }: BareSelect<Value>) {
  return (
    <select
      className="input"
      value={value}
      onChange={(event) => {
        const found = options.find((option) => option.value === event.target.value)
        if (found) onChange(found.value)
      }}
      {...rest}
    >
      {options.map(({ value: own, title }) => (
        <option key={own} value={own}>
          {title}
        </option>
      ))}
    </select>
  )
}

export function Check({ children, ...rest }: ComponentProps<'input'> & { children: ReactNode }) {
  return (
    <label className="check">
      <input type="checkbox" {...rest} />
      <span>{children}</span>
    </label>
  )
}

interface SegmentsProps<Value extends string> {
  label: string
  value: Value
  options: readonly Option<Value>[]
  onChange: (value: Value) => void
}

/** A choice among a few, all of them in sight. */
export function Segments<Value extends string>({ label, value, options, onChange }: SegmentsProps<Value>) {
  const name = useId()
  return (
    <div className="segments" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.title}
        </label>
      ))}
    </div>
  )
}
