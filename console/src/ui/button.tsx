import type { ComponentProps, ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

interface ButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  icon?: IconName
  /** While its work is in progress it can't be pressed again. */
  isBusy?: boolean
  children: ReactNode
}

export function Button({ kind = 'plain', icon, isBusy = false, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className="button"
      data-kind={kind}
      aria-busy={isBusy}
      {...rest}
      disabled={rest.disabled === true || isBusy}
    >
      {icon ? <Icon name={icon} /> : null}
      {children}
    </button>
  )
}

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  icon: IconName
  label: string
}

export function IconButton({ icon, label, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      className="button icon-only"
      data-kind="quiet"
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  )
}
