import { feature } from '../feature.ts'
import { forgetNumbers, KEPT_DAYS } from './numbers.ts'

export const hcloud = feature({
  cleaning: () => ({ old: { hcloudNumbers: { days: KEPT_DAYS, delete: forgetNumbers } } }),
})
