import { useFormats } from '../format.ts'
import { useAccountText } from './text.ts'

/** Returns a function that shows a limit, or the use of it, in the unit that its name ends with. */
export function useLimitValue(): (name: string, value: number) => string {
  const t = useAccountText()
  const format = useFormats()
  return (name, value) => {
    if (name.endsWith('_mb')) return format.ram(value)
    return name.endsWith('_gb') ? t.gb(format.number(value)) : format.number(value)
  }
}
