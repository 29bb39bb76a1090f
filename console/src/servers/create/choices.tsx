import './create.css'
import { type ReactNode, useId } from 'react'

interface Choice {
  value: string
  isDisabled?: boolean
  content: ReactNode
}

interface ChoicesProps {
  label: string
  value: string
  choices: readonly Choice[]
  onChange: (value: string) => void
}

/** Cards of which one is chosen. */
export function Choices({ label, value, choices, onChange }: ChoicesProps) {
  const name = useId()
  return (
    <div className="choices" role="radiogroup" aria-label={label}>
      {choices.map((choice) => (
        <label key={choice.value} className="choice">
          <input
            type="radio"
            name={name}
            checked={choice.value === value}
            disabled={choice.isDisabled}
            onChange={() => onChange(choice.value)}
          />
          {choice.content}
        </label>
      ))}
    </div>
  )
}
