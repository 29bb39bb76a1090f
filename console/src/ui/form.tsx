import type { FormEvent, ReactNode } from 'react'
import { Button } from './button.tsx'
import { Failed } from './states.tsx'
import { useUiText } from './text.ts'

interface FormProps {
  submit: string
  mutation: { isPending: boolean; error: Error | null }
  isReady?: boolean
  onSubmit: () => void
  onCancel?: () => void
  children: ReactNode
}

/** Fields, the error of the last attempt, and the button that submits them. */
export function Form({ submit, mutation, isReady = true, onSubmit, onCancel, children }: FormProps) {
  const t = useUiText()
  return (
    <form
      className="stack"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        if (!mutation.isPending && isReady) onSubmit()
      }}
    >
      {children}
      {mutation.error ? <Failed error={mutation.error} /> : null}
      <div className="row">
        <Button type="submit" kind="primary" disabled={!isReady} isBusy={mutation.isPending}>
          {submit}
        </Button>
        {onCancel ? <Button onClick={onCancel}>{t.cancel}</Button> : null}
      </div>
    </form>
  )
}
